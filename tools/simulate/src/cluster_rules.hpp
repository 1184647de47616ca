#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "pinfold/kube/list_watch.hpp"
#include "pinfold/predict/node_topology.hpp"
#include "pinfold/simulate/schedule_rule.hpp"

namespace pinfold::simulate {

/// What a rule learns about the cluster, and its answers.
class ClusterRule {
 public:
  ClusterRule() = default;
  ClusterRule(const ClusterRule&) = delete;
  ClusterRule& operator=(const ClusterRule&) = delete;
  virtual ~ClusterRule() = default;

  /// Returns which of the nodes pass for the pod.
  [[nodiscard]] virtual std::vector<std::size_t> filter(const PodSpec& pod,
                                                        std::vector<std::size_t> nodes,
                                                        kube::Time now) = 0;
  virtual void publish(std::size_t /*node*/, const NodeTopology& /*topology*/) {}
  /// The watch shows the pod on the node, and whether its kubelet has rejected it.
  virtual void show_bound(const PodSpec& /*pod*/, std::size_t /*node*/, bool /*rejected*/,
                          kube::Time /*now*/) {}
  virtual void show_removed(const PodUid& /*uid*/) {}
  [[nodiscard]] virtual std::size_t bytes() const { return 0; }
};

/// Returns "node-17".
[[nodiscard]] std::string cluster_node_name(std::size_t node);

/// Domain: `nodes` have the numbers 0, 1, 2 ...
[[nodiscard]] std::unique_ptr<ClusterRule> make_cluster_rule(ScheduleRule rule,
                                                             const std::vector<NodeTopology>& nodes,
                                                             std::chrono::milliseconds delay);

}  // namespace pinfold::simulate
