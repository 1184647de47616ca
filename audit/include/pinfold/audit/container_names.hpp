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

/// Whose container a runtime's id is.
struct ContainerName {
  std::string namespace_name = {};
  std::string pod = {};        ///< "" if the source does not say
  std::string container = {};  ///< "" for a sandbox
  std::string uid = {};        ///< "" if the source does not say
  bool is_sandbox = false;     ///< the pause container of a pod
  std::string source = {};     ///< the file that says so

  friend bool operator==(const ContainerName&, const ContainerName&) = default;
};

/// From the annotations of an OCI bundle's config.json, containerd's or CRI-O's; nullopt if it is
/// not of a pod. Domain: any bytes.
[[nodiscard]] std::optional<ContainerName> parse_bundle(std::string_view config_json);
/// From Docker's config.v2.json.
[[nodiscard]] std::optional<ContainerName> parse_docker_config(std::string_view config_json);

/// The process id in a file that has nothing else (containerd's init.pid, CRI-O's pidfile), or in
/// the state of runc ("init_process_pid") or crun ("pid"). Domain: any bytes.
[[nodiscard]] std::optional<pid_t> parse_init(std::string_view text);

/// Names of containers by id, as files say them without any API: the runtimes' files first, then
/// the links in /var/log/containers.
class ContainerNames {
 public:
  ContainerNames(const Tree& tree, Problems& problems);
  /// nullopt if no file names this container.
  [[nodiscard]] std::optional<ContainerName> find(const std::string& id) const;
  /// The first process of a container, by its runtime's file; nullopt if none says it. It may have
  /// ended.
  [[nodiscard]] std::optional<pid_t> init_of(const std::string& id) const;

 private:
  const Tree& tree_;
  std::map<std::string, ContainerName> logs_;
};

/// The containers of a pod that the kubelet has a directory for, by
/// ROOT_DIR/pods/UID/containers/NAME. Empty without such a directory.
[[nodiscard]] std::vector<std::string> containers_of_pod(const Tree& tree,
                                                         const std::string& root_dir,
                                                         const PodUid& pod);

}  // namespace pinfold::audit
