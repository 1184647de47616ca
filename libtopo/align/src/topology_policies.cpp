#include "pinfold/align/topology_policies.hpp"

namespace pinfold {

bool admits(TopologyPolicy policy, const TopologyHint& affinity) {
  switch (policy) {
    case TopologyPolicy::kNone:        // none: always; nothing is aligned
    case TopologyPolicy::kBestEffort:  // best-effort: always, aligned or not
      return true;
    case TopologyPolicy::kRestricted:      // restricted: only if aligned, on any set of nodes
    case TopologyPolicy::kSingleNumaNode:  // single-numa-node: only if aligned on one node
      break;
  }
  return affinity.preferred;
}

}  // namespace pinfold
