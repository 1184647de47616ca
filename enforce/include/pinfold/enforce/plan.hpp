#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/enforce/layout.hpp"

namespace pinfold::enforce {

/// A group that is not Pinfold's: docs/cgroups.md.
struct ForeignGroup {
  std::string directory;      ///< absolute
  CpuSet cpus;                ///< the CPUs that its processes use, or would use
  CpuSet chosen;              ///< its own cpuset.cpus; empty: it follows the group above
  std::size_t processes = 0;  ///< below the root: for groups not `is_own`, with the groups below
  bool is_own = false;        ///< the root or a pod's group: only its processes are foreign
  std::string problem = {};   ///< why its processes could not be read; "" if they were
  /// The CPUs of the nearest group above it that has a cpuset; nullopt if unknown.
  std::optional<CpuSet> above = std::nullopt;
  /// Adopted containers' groups in it: on cgroup v1 it must have their CPUs too.
  std::vector<GroupName> inside = {};
  /// Set if Pinfold has confined it: the CPUs that it had chosen before; empty if it had none.
  std::optional<CpuSet> before = std::nullopt;
  bool kills = false;  ///< its processes are killed if it cannot be confined
  /// Others may widen the groups above it (cgroup v2): then it gets all CPUs that it has chosen.
  bool can_grow = false;

  /// Returns the CPUs that it has, or gets if the groups above it are widened to `machine`.
  [[nodiscard]] CpuSet reach(const CpuSet& machine) const {
    if (!can_grow) return cpus;
    return cpus | (chosen.empty() ? machine : chosen);
  }
  /// Returns true if a process runs in it, or might.
  [[nodiscard]] bool may_run() const { return processes > 0 || !problem.empty(); }
};

/// The foreign groups in a plan.
struct ForeignGroups {
  std::vector<ForeignGroup> groups;  ///< a group before those in it
  CpuSet pool;       ///< CPUs for them, which are exclusive to no container after the plan
  CpuSet exclusive;  ///< that they must leave, besides those of the two layouts
  bool is_v1 = false;
  /// CPUs that groups above adopted ones do not have: adopted groups are not parked there.
  CpuSet lost = {};
};

/// One operation on one control group.
struct Step {
  enum class Kind {
    kRemove,   ///< removes the group; it must have no processes
    kCreate,   ///< creates the group; its parent exists
    kCpus,     ///< cpuset.cpus := set
    kMems,     ///< cpuset.mems := set
    kValue,    ///< file := value
    kVerify,   ///< checks that the effective CPUs are `set`; changes nothing
    kConfine,  ///< a foreign group leaves exclusive CPUs: cpuset.cpus := set
    kFollow,   ///< a confined group gets what the shared pool has gained: cpuset.cpus := set
  };
  Kind kind = Kind::kCpus;
  GroupName group;
  CpuSet set;  ///< to write (empty: as the parent); kVerify: expected
  std::string file;
  std::string value;
  std::string directory = {};  ///< kConfine, kFollow: the foreign group; `group` is empty
  bool kills = false;          ///< kConfine: see ForeignGroup

  [[nodiscard]] bool is_foreign() const { return !directory.empty(); }

  friend bool operator==(const Step&, const Step&) = default;
};
using Plan = std::vector<Step>;

/// Changes a layout the way a step changes the kernel.
void apply_to(Layout& layout, const Step& step);

/// Returns "pod1/c1: cpuset.cpus := 2-3".
[[nodiscard]] std::string to_string(const Step& step);
std::ostream& operator<<(std::ostream& out, const Step& step);

/// Computes the ordered steps from `before` to `after`. After any number of them, no CPU that is
/// exclusive (isolation container or pod) in either layout is in the set of another container:
///  1. groups that are no longer desired are removed,
///  2. every container that stays is reduced to the CPUs that it has both before and after; foreign
///     groups are confined to CPUs of the pool that are exclusive to no container at this point,
///     and again before a container gets exclusive CPUs if that was not possible,
///  3. new groups are created on CPUs that are exclusive to no container before or after,
///  4. memory nodes are written; pods are widened, then containers and pods get their final sets,
///  5. confined groups follow the pool, within the CPUs that they had chosen; the effective sets
///     are verified,
///  6. quotas, weights and limits are written.
/// A pod's set always contains its containers' sets, as cgroup v1 demands, and a new group never
/// exposes its parent's CPUs, as it would on cgroup v2.
/// Domain: `machine` is the set of CPUs of the root; neither layout has overlaps, except between a
/// standard init container and later containers of its pod, which never run together.
/// Errors: kInvalidArgument if every CPU is exclusive before or after (the kubelet's rules reserve
/// one, but the two layouts can reserve different ones), and a container must be created, or must
/// move and its new CPUs never become free.
[[nodiscard]] Result<Plan> plan(const Layout& before, const Layout& after, const CpuSet& machine,
                                const ForeignGroups& foreign = {});

}  // namespace pinfold::enforce
