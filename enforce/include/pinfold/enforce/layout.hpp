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

/// Names one control group below the root: a pod's own ("pod<uid>") or that of one of its
/// containers ("pod<uid>/<container>").
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
  /// Returns the pod's group, which contains a container's group.
  [[nodiscard]] GroupName parent() const { return GroupName(pod); }
  /// Domain: not a pod's own group.
  [[nodiscard]] ContainerId id() const { return {pod, container}; }

  friend auto operator<=>(const GroupName&, const GroupName&) = default;
};

/// A set of NUMA nodes by OS id, as in cpuset.mems. Uses the same Linux list format, and so the
/// same type, as CPUs.
using NodeSet = CpuSet;

/// Control files of a group and their values, spelled as the kernel returns them: "cpu.max" to
/// "200000 100000".
using Values = std::map<std::string, std::string>;

/// The settings of one control group, observed or desired.
struct GroupSettings {
  CpuSet cpus;   ///< empty: same as the parent
  NodeSet mems;  ///< empty: same as the parent
  Values values;
  /// Which containers may share its CPUs; meaningful only for containers.
  Isolation isolation = Isolation::kHost;
  /// False if the group exists, but not in every hierarchy or without its controllers.
  bool is_complete = true;
  std::string problem = {};  ///< why an observed group could not be read; "" if it was

  friend bool operator==(const GroupSettings&, const GroupSettings&) = default;
};

/// All control groups below a root. Every container's pod has an entry too, whose CPUs and memory
/// nodes contain those of its containers.
using Layout = std::map<GroupName, GroupSettings>;

/// Returns "pod<uid>" or "pod<uid>/<container>".
/// Errors: kInvalidArgument if the name is not a safe file name (see is_safe_name).
[[nodiscard]] Result<std::string> relative_path(const GroupName& name);

/// Returns the pod whose own group has this name; nullopt for a name that Pinfold does not give.
[[nodiscard]] std::optional<PodUid> pod_of_group(std::string_view name);

/// Returns the relative path without checking it; for messages only.
[[nodiscard]] std::string to_string(const GroupName& name);
std::ostream& operator<<(std::ostream& out, const GroupName& name);
std::ostream& operator<<(std::ostream& out, const GroupSettings& group);

}  // namespace pinfold::enforce
