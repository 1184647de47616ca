#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

/// What container runtimes write about their containers.
namespace pinfold::audit {

/// Names the container that a runtime id belongs to.
struct ContainerName {
  std::string namespace_name = {};
  std::string pod = {};        ///< "" if unknown to the source
  std::string container = {};  ///< "" for a sandbox
  std::string uid = {};        ///< "" if unknown to the source
  bool is_sandbox = false;     ///< the pause container of a pod
  std::string source = {};     ///< the file with this information

  friend bool operator==(const ContainerName&, const ContainerName&) = default;
};

/// Parses the annotations in an OCI bundle's config.json, from containerd or CRI-O; nullopt if it
/// does not belong to a pod. Domain: any bytes.
[[nodiscard]] std::optional<ContainerName> parse_bundle(std::string_view config_json);
/// Parses Docker's config.v2.json.
[[nodiscard]] std::optional<ContainerName> parse_docker_config(std::string_view config_json);

/// Parses the process id from a file that contains nothing else (containerd's init.pid, CRI-O's
/// pidfile), or from the state of runc ("init_process_pid") or crun ("pid"). Domain: any bytes.
[[nodiscard]] std::optional<pid_t> parse_init(std::string_view text);

}  // namespace pinfold::audit
