#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/text/words.hpp"

/// Distributions whose program contains or starts a kubelet: k3s, RKE2, k0s, MicroK8s. Pure.
namespace pinfold::audit {

/// Where a distribution keeps the flags of its kubelet.
enum class FlagSource {
  kRancher,   ///< "kubelet-arg" in its configuration files and on its command line
  kK0s,       ///< --kubelet-extra-args on its command line
  kArgsFile,  ///< a file with one flag per line
};

struct Distribution {
  std::string_view program;                       ///< "k3s"
  std::array<std::string_view, 2> commands = {};  ///< its commands that run a kubelet; "": none
  FlagSource source = FlagSource::kRancher;
  bool is_inside = false;     ///< the kubelet is part of the program's process
  std::string_view settings;  ///< the file with the flags, or the kubelet's configuration
  std::string_view data_dir = {};
  std::array<std::string_view, 2> units;  ///< without ".service"
};
/// Returns all known distributions.
[[nodiscard]] const std::array<Distribution, 4>& distributions();

/// A running program of a distribution with its arguments.
struct KubeletHost {
  const Distribution* distribution = nullptr;
  std::string title;  ///< "k3s server"
  /// The arguments after the command. k3s hides them from other processes.
  std::vector<std::string> arguments = {};
};
/// Returns nullopt if the command line is not of such a program, or if it runs no kubelet.
[[nodiscard]] std::optional<KubeletHost> kubelet_host(const std::vector<std::string>& words);

/// The relevant part of a k3s or RKE2 configuration.
struct RancherConfig {
  std::vector<std::string> kubelet_args = {};
  std::string data_dir = {};
  bool has_kubelet = true;  ///< false: "disable-agent"

  friend bool operator==(const RancherConfig&, const RancherConfig&) = default;
};
/// Merges a file into those before it: a key replaces, a key that ends with a plus sign appends.
/// Source: docs.k3s.io, "Configuration file".
void merge_rancher(RancherConfig& config, const nlohmann::json& document);
/// Merges a command line over the files. Its lists append.
void merge_rancher(RancherConfig& config, const std::vector<std::string>& arguments);

}  // namespace pinfold::audit
