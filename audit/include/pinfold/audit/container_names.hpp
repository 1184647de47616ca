#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/audit/tree.hpp"
#include "pinfold/types/container_id.hpp"

namespace pinfold::audit {

class Problems;

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

/// Finds the names of containers by id in files, without any API: first in the runtimes' files,
/// then in the links in /var/log/containers.
class ContainerNames {
 public:
  ContainerNames(const Tree& tree, Problems& problems);
  /// Returns nullopt if no file names this container.
  [[nodiscard]] std::optional<ContainerName> find(const std::string& id) const;
  /// Returns the first process of a container according to its runtime's file; nullopt if there is
  /// none. The process may have ended.
  [[nodiscard]] std::optional<pid_t> init_of(const std::string& id) const;

 private:
  const Tree& tree_;
  std::map<std::string, ContainerName> logs_;
};

/// Returns the containers of a pod for which the kubelet has a directory
/// ROOT_DIR/pods/UID/containers/NAME. Empty without such directories.
[[nodiscard]] std::vector<std::string> containers_of_pod(const Tree& tree,
                                                         const std::string& root_dir,
                                                         const PodUid& pod);

}  // namespace pinfold::audit
