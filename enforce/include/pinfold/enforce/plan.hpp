#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "pinfold/enforce/layout.hpp"

namespace pinfold::enforce {

/// One operation on one control group.
struct Step {
  enum class Kind {
    kRemove,  ///< removes the group; it must have no processes
    kCreate,  ///< creates the group; its parent exists
    kCpus,    ///< cpuset.cpus := set
    kMems,    ///< cpuset.mems := set
    kValue,   ///< file := value
    kVerify,  ///< checks that the effective CPUs are `set`; changes nothing
  };
  Kind kind = Kind::kCpus;
  GroupName group;
  CpuSet set;  ///< kCpus, kMems: to write (empty: as the parent); kVerify: expected
  std::string file;
  std::string value;

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
///  2. every container that stays is reduced to the CPUs that it has both before and after,
///  3. new groups are created on CPUs that are exclusive to no container before or after,
///  4. memory nodes are written; pods are widened, then containers and pods get their final sets,
///  5. the effective sets are verified,
///  6. quotas, weights and limits are written.
/// A pod's set always contains its containers' sets, as cgroup v1 demands, and a new group never
/// exposes its parent's CPUs, as it would on cgroup v2.
/// Domain: `machine` is the set of CPUs of the root; neither layout has overlaps, except between a
/// standard init container and later containers of its pod, which never run together.
/// Errors: kInvalidArgument if every CPU is exclusive before or after (the kubelet's rules reserve
/// one, but the two layouts can reserve different ones), and a container must be created, or must
/// move and its new CPUs never become free.
[[nodiscard]] Result<Plan> plan(const Layout& before, const Layout& after, const CpuSet& machine);

}  // namespace pinfold::enforce
