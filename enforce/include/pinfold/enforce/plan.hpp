#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "pinfold/enforce/layout.hpp"

namespace pinfold::enforce {

/// One operation on one control group.
struct Step {
  enum class Kind {
    kRemove,  ///< removes the group; it must have no process
    kCreate,  ///< makes the group; its parent exists
    kCpus,    ///< cpuset.cpus := set
    kMems,    ///< cpuset.mems := set
    kValue,   ///< file := value
    kVerify,  ///< the effective CPUs must be `set`; changes nothing
  };
  Kind kind = Kind::kCpus;
  GroupName group;
  CpuSet set;  ///< kCpus, kMems: to write (empty: the parent's); kVerify: expected
  std::string file;
  std::string value;

  friend bool operator==(const Step&, const Step&) = default;
};
using Plan = std::vector<Step>;

/// Changes a layout as a step changes the kernel.
void apply_to(Layout& layout, const Step& step);

/// "pod1/c1: cpuset.cpus := 2-3".
[[nodiscard]] std::string to_string(const Step& step);
std::ostream& operator<<(std::ostream& out, const Step& step);

/// The ordered steps from `before` to `after`. After any prefix of them no CPU that is exclusive
/// (isolation container or pod) in one of the layouts is in the set of another container:
///  1. groups that are no longer desired are removed,
///  2. every container that stays is reduced to the CPUs that it has both before and after,
///  3. new groups are created on CPUs that are exclusive to no container before or after,
///  4. memory nodes are written; containers, and before them their pods, get their final sets,
///  5. the effective sets are verified,
///  6. quotas, weights and limits are written.
/// A pod's set contains its containers' sets all the time, as cgroup v1 demands, and a new group
/// never shows its parent's CPUs, as cgroup v2 would.
/// Domain: `machine` are the CPUs of the root; both layouts are free of overlap themselves, except
/// between a standard init container and later containers of its pod, which never run together.
/// Errors: kInvalidArgument if no CPU is free of exclusive containers both before and after (the
/// kubelet's rules reserve one, but another node can reserve another one), and a container has to
/// be made, or to move and its new CPUs never become free.
[[nodiscard]] Result<Plan> plan(const Layout& before, const Layout& after, const CpuSet& machine);

}  // namespace pinfold::enforce
