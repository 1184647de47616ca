#pragma once

#include <map>
#include <string>

#include "pinfold/types/container_id.hpp"

namespace pinfold {

/// Names a pod to people and programs.
struct PodRef {
  PodUid uid;
  std::string namespace_name;  ///< "", like the name, if only the UID is known, as for a held pod
  std::string name;

  friend bool operator==(const PodRef&, const PodRef&) = default;
};
/// Returns "default/web", or the UID if only that is known.
[[nodiscard]] std::string to_string(const PodRef& pod);

/// Names a container outside its pod.
struct ContainerRef {
  PodRef pod;
  std::string container;

  friend bool operator==(const ContainerRef&, const ContainerRef&) = default;
};
/// Returns "default/web/main".
[[nodiscard]] std::string to_string(const ContainerRef& container);
[[nodiscard]] inline ContainerId id_of(const ContainerRef& container) {
  return {container.pod.uid, container.container};
}

/// Pods whose names are known.
using PodNames = std::map<PodUid, PodRef>;
/// Returns the pod with its names if `names` has them.
[[nodiscard]] PodRef ref_of(const PodNames& names, const PodUid& uid);

}  // namespace pinfold
