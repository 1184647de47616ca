#include "cluster_rules.hpp"

#include <fmt/format.h>

#include <utility>

#include "pinfold/cluster/cluster_view.hpp"
#include "pinfold/predict/pod_query.hpp"
#include "pinfold/scheduling/answers.hpp"

namespace pinfold::simulate {
namespace {

using kube::Time;

class SumsRule final : public ClusterRule {
 public:
  std::vector<std::size_t> filter(const PodSpec& /*pod*/, std::vector<std::size_t> nodes,
                                  Time /*now*/) override {
    return nodes;
  }
};

/// Judges by the objects as they are published, and remembers nothing.
class PublishedRule final : public ClusterRule {
 public:
  explicit PublishedRule(const std::vector<NodeTopology>& nodes) {
    for (const NodeTopology& node : nodes) (void)fleet_.add(node);  // their names are unique
  }
  std::vector<std::size_t> filter(const PodSpec& pod, std::vector<std::size_t> nodes,
                                  Time /*now*/) override {
    PodQuery query(fleet_, pod);
    std::erase_if(nodes, [&](std::size_t node) {
      return !query.predict(node, ScoringStrategy::kLeastNumaNodes).admits();
    });
    return nodes;
  }
  void publish(std::size_t node, const NodeTopology& topology) override {
    (void)fleet_.replace(node, topology);  // has the same resources
  }
  [[nodiscard]] std::size_t bytes() const override { return fleet_.memory(); }

 private:
  Fleet fleet_;
};

class ExtenderRule final : public ClusterRule {
 public:
  ExtenderRule(const std::vector<NodeTopology>& nodes, std::chrono::milliseconds delay)
      : view_({{}, delay + kMargin, kBindTime}) {
    for (const NodeTopology& node : nodes) view_.set_topology(node);
  }
  std::vector<std::size_t> filter(const PodSpec& pod, std::vector<std::size_t> nodes,
                                  Time now) override {
    scheduling::ExtenderArgs args{pod, {}, {}, ""};
    for (const std::size_t node : nodes) args.nodes.push_back(cluster_node_name(node));
    std::vector<std::size_t> passed = scheduling::filter(view_, args, now).passed;
    for (std::size_t& index : passed) index = nodes[index];
    return passed;
  }
  void publish(std::size_t /*node*/, const NodeTopology& topology) override {
    view_.set_topology(topology);
  }
  void show_bound(const PodSpec& pod, std::size_t node, bool rejected, Time now) override {
    view_.set_pod({pod, cluster_node_name(node), rejected, rejected, std::nullopt, ""}, now);
  }
  void show_removed(const PodUid& uid) override { view_.remove_pod(uid); }
  [[nodiscard]] std::size_t bytes() const override { return view_.counts().bytes; }

 private:
  static constexpr std::chrono::seconds kMargin{5};  // of the setting over the real delay
  static constexpr std::chrono::seconds kBindTime{30};
  cluster::ClusterView view_;
};

}  // namespace

std::string cluster_node_name(std::size_t node) { return fmt::format("node-{}", node); }

std::unique_ptr<ClusterRule> make_cluster_rule(ScheduleRule rule,
                                               const std::vector<NodeTopology>& nodes,
                                               std::chrono::milliseconds delay) {
  switch (rule) {
    case ScheduleRule::kSums:
      return std::make_unique<SumsRule>();
    case ScheduleRule::kPublished:
      return std::make_unique<PublishedRule>(nodes);
    case ScheduleRule::kExtender:
      break;
  }
  return std::make_unique<ExtenderRule>(nodes, delay);
}

}  // namespace pinfold::simulate
