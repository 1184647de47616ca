#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/agent/options.hpp"
#include "pinfold/settings/nri_settings.hpp"
#include "pinfold/settings/publish_settings.hpp"
#include "pinfold/socket/unix_socket.hpp"

namespace pinfold::settings {

inline constexpr const char* kDefaultSettingsFile = "/etc/pinfold/agent.yaml";

/// Settings of a service, from its configuration file and options; docs/service.md has the table.
struct Settings {
  // Changes of these need a restart.
  std::string state_dir = agent::kDefaultStateDir;
  std::string config;          ///< as in `pinfold admit`
  std::string kubelet_flags;   ///< as in `pinfold admit`, once
  std::string machine;         ///< a file; empty: discovered
  std::string profile;         ///< empty: from the configuration
  std::string kubelet_binary;  ///< as in `pinfold admit`
  std::string cgroup_root;
  bool enforce = true;
  bool reset_affinity = true;                         ///< see agent::AgentOptions
  quiet::QuietLevel quiet = quiet::QuietLevel::kOff;  ///< likewise
  std::string socket = socket::kDefaultSocket;
  std::string grpc_socket;           ///< this and the next two: empty is off
  std::string pod_resources_socket;  ///< with `nri` see pod_resources_places
  std::string metrics_address;
  std::optional<NriSettings> nri;          ///< nullopt: no runtime is followed
  std::optional<PublishSettings> publish;  ///< nullopt: nothing is published
  bool memory_forecast = true;             ///< of NUMA nodes: docs/memory-forecast.md
  // Changes of these do not.
  std::chrono::seconds reconcile_interval{10};
  bool move_pages = false;
  agent::LogLevel log_level = agent::LogLevel::kInfo;

  friend bool operator==(const Settings&, const Settings&) = default;
};

/// Reads a configuration file. An empty one sets nothing.
/// Errors: kInvalidArgument, including for an unknown member: "line 2: unknown field 'sockt', did
/// you mean 'socket'?".
[[nodiscard]] Result<Settings> parse_settings(std::string_view yaml);

/// Parses a log level. Errors: kInvalidArgument.
[[nodiscard]] Result<agent::LogLevel> parse_log_level(std::string_view text);

/// Where PodResources is served.
struct PodResourcesPlaces {
  std::string first;   ///< empty: nowhere
  std::string second;  ///< used if another process listens at the first one
  std::string reason;  ///< why the first one is not the requested one; or empty

  friend bool operator==(const PodResourcesPlaces&, const PodResourcesPlaces&) = default;
};
/// Returns where PodResources is served. The second place is "pod-resources/kubelet.sock" in the
/// directory of the service's socket. With `nri`, PodResources is served there unless
/// podResourcesSocket names a place other than the kubelet's: the kubelet takes its own path when
/// it starts. "off": nowhere.
[[nodiscard]] PodResourcesPlaces pod_resources_places(const Settings& settings);

/// Returns the changed members of the file that need a restart.
[[nodiscard]] std::vector<std::string> needs_restart(const Settings& before, const Settings& after);

}  // namespace pinfold::settings
