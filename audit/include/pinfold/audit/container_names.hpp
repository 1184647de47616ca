#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/audit/bundles.hpp"
#include "pinfold/audit/problems.hpp"
#include "pinfold/audit/tree.hpp"
#include "pinfold/types/container_id.hpp"

namespace pinfold::audit {

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

/// Returns the containers of a pod that have a directory of the kubelet
/// ROOT_DIR/pods/UID/containers/NAME. Empty without such directories.
[[nodiscard]] std::vector<std::string> containers_of_pod(const Tree& tree,
                                                         const std::string& root_dir,
                                                         const PodUid& pod);

}  // namespace pinfold::audit
