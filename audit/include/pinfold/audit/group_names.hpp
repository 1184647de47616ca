#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pinfold/api/pod.hpp"
#include "pinfold/types/container_id.hpp"

/// The names that kubelets and container runtimes give to control groups. Pure.
namespace pinfold::audit {

enum class Driver { kCgroupfs, kSystemd };
[[nodiscard]] std::string_view to_string(Driver driver);

enum class GroupRole {
  kPod,        ///< a pod's own group
  kContainer,  ///< of a container or a sandbox
  kMonitor,    ///< of CRI-O's conmon
  kOther,      ///< in a pod's group, of neither
};

/// What a group's path says.
struct KubeletGroup {
  PodUid pod;
  QosClass qos = QosClass::kGuaranteed;
  Driver driver = Driver::kCgroupfs;
  GroupRole role = GroupRole::kPod;
  std::string container;     ///< the runtime's id; "" for a pod's own group
  std::string_view runtime;  ///< "containerd", "cri-o", "docker"; "": the name does not say

  friend bool operator==(const KubeletGroup&, const KubeletGroup&) = default;
};

/// True for the group with all pods of a kubelet: "kubepods", "kubepods.slice",
/// "kubelet-kubepods.slice". The driver is that of the name.
[[nodiscard]] std::optional<Driver> driver_of_root(std::string_view name);

/// The group of a pod or right below one; nullopt for any other. `path`: relative to the mount,
/// "kubepods/burstable/podUID/ID".
[[nodiscard]] std::optional<KubeletGroup> parse_group(std::string_view path);

/// What the name of a link in /var/log/containers says: "POD_NAMESPACE_CONTAINER-ID.log".
struct LogName {
  std::string pod;
  std::string namespace_name;
  std::string container;
  std::string id;

  friend bool operator==(const LogName&, const LogName&) = default;
};
[[nodiscard]] std::optional<LogName> parse_log_name(std::string_view name);

/// True for 64 hexadecimal digits, which every runtime's container ids are.
[[nodiscard]] bool is_runtime_id(std::string_view text);

}  // namespace pinfold::audit
