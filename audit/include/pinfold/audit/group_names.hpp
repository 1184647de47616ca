#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pinfold/api/pod.hpp"
#include "pinfold/types/container_id.hpp"

/// Names that kubelets and container runtimes give to control groups. Pure.
namespace pinfold::audit {

enum class Driver { kCgroupfs, kSystemd };
[[nodiscard]] std::string_view to_string(Driver driver);

enum class GroupRole {
  kPod,        ///< a pod's own group
  kContainer,  ///< a container's or sandbox's group
  kMonitor,    ///< the group of CRI-O's conmon
  kOther,      ///< in a pod's group, but neither
};

/// The information in a group's path.
struct KubeletGroup {
  PodUid pod;
  QosClass qos = QosClass::kGuaranteed;
  Driver driver = Driver::kCgroupfs;
  GroupRole role = GroupRole::kPod;
  std::string container;     ///< the runtime's id; "" for a pod's own group
  std::string_view runtime;  ///< "containerd", "cri-o", "docker"; "": the name does not say

  friend bool operator==(const KubeletGroup&, const KubeletGroup&) = default;
};

/// Returns the cgroup driver of a group with all pods of a kubelet, from its name: "kubepods",
/// "kubepods.slice", "kubelet-kubepods.slice"; nullopt for any other group.
[[nodiscard]] std::optional<Driver> driver_of_root(std::string_view name);

/// Parses the path of a pod's group or of a group directly below one; nullopt for any other group.
/// `path`: relative to the mount, "kubepods/burstable/podUID/ID".
[[nodiscard]] std::optional<KubeletGroup> parse_group(std::string_view path);

/// The parts of a link's name in /var/log/containers: "POD_NAMESPACE_CONTAINER-ID.log".
struct LogName {
  std::string pod;
  std::string namespace_name;
  std::string container;
  std::string id;

  friend bool operator==(const LogName&, const LogName&) = default;
};
[[nodiscard]] std::optional<LogName> parse_log_name(std::string_view name);

/// Returns true for 64 hexadecimal digits, the form of every runtime's container ids.
[[nodiscard]] bool is_runtime_id(std::string_view text);

}  // namespace pinfold::audit
