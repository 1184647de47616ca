#pragma once

#include <compare>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pinfold/base/result.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/types/container_id.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::enforce {

/// Names one control group below the root: a pod's own ("pod<uid>") or one of its containers'
/// ("pod<uid>/<container>").
struct GroupName {
  PodUid pod;
  std::string container;  ///< "": the pod's own group

  GroupName() = default;
  explicit GroupName(PodUid of_pod) : pod(std::move(of_pod)) {}
  GroupName(PodUid of_pod, std::string of_container)
      : pod(std::move(of_pod)), container(std::move(of_container)) {}
  GroupName(ContainerId id)  // NOLINT(google-explicit-constructor): a container names its group
      : pod(std::move(id.pod)), container(std::move(id.name)) {}

  [[nodiscard]] bool is_pod() const { return container.empty(); }
  /// The group that a container's group is in.
  [[nodiscard]] GroupName parent() const { return GroupName(pod); }
  /// Domain: not a pod's own group.
  [[nodiscard]] ContainerId id() const { return {pod, container}; }

  friend auto operator<=>(const GroupName&, const GroupName&) = default;
};

/// A set of NUMA nodes by OS id, as cpuset.mems lists them. Shares the Linux list format (and so
/// the type) with CPUs.
using NodeSet = CpuSet;

/// Control files below a group and their values, spelled as the kernel spells them when read:
/// "cpu.max" to "200000 100000".
using Values = std::map<std::string, std::string>;

/// The settings of one control group, observed or desired.
struct GroupSettings {
  CpuSet cpus;   ///< empty: its parent's
  NodeSet mems;  ///< empty: its parent's
  Values values;
  /// Which containers may share its CPUs; only of containers.
  Isolation isolation = Isolation::kHost;
  /// False if it exists, but not in every hierarchy or without its controllers.
  bool is_complete = true;
  std::string problem = {};  ///< why an observed group could not be read; "": it was

  friend bool operator==(const GroupSettings&, const GroupSettings&) = default;
};

/// Every control group below a root. Each container's pod has an entry too, and its CPUs and
/// memory nodes contain those of its containers.
using Layout = std::map<GroupName, GroupSettings>;

/// "pod<uid>" or "pod<uid>/<container>".
/// Errors: kInvalidArgument for a name that is no safe file name (see is_safe_name).
[[nodiscard]] Result<std::string> relative_path(const GroupName& name);

/// The pod whose own group has this name; nullopt for a name that Pinfold does not give.
[[nodiscard]] std::optional<PodUid> pod_of_group(std::string_view name);

/// For messages only: the relative path, unchecked.
[[nodiscard]] std::string to_string(const GroupName& name);
std::ostream& operator<<(std::ostream& out, const GroupName& name);
std::ostream& operator<<(std::ostream& out, const GroupSettings& group);

}  // namespace pinfold::enforce
