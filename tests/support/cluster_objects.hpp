#pragma once

#include <string>
#include <utility>
#include <vector>

#include "node_fixture.hpp"
#include "pinfold/kube/watched_pod.hpp"
#include "zones.hpp"

/// Short ways to write objects as an API server shows them.
namespace pinfold::test {

/// Returns a Guaranteed pod with this number of CPUs; not bound if `node` is "".
inline kube::WatchedPod watched(const std::string& uid, const std::string& cpus,
                                const std::string& node = "") {
  kube::WatchedPod made;
  made.spec = pod(uid, {{"cpu", cpus}, {"memory", "1Mi"}});
  made.node = node;
  return made;
}

inline kube::WatchedPod observed(kube::WatchedPod pod, std::vector<ZoneAmount> amounts) {
  pod.observed = std::move(amounts);
  return pod;
}

/// Returns a node with single-numa-node and two zones of 8 CPUs, of which these are available.
inline NodeTopology eight_each(const std::string& name, const std::string& first = "8",
                               const std::string& second = "8") {
  auto node = two_zones("single-numa-node", "pod", {{"cpu", "8"}}, name);
  set_available(node, 0, "cpu", first);
  set_available(node, 1, "cpu", second);
  return node;
}

}  // namespace pinfold::test
