#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "node_fixture.hpp"
#include "pinfold/predict/fields.hpp"
#include "pinfold/predict/ledger.hpp"
#include "pinfold/predict/pod_query.hpp"

namespace pinfold::test {

/// The delay of exporters, in steps of logical time.
struct ExporterDelay {
  int least = 0;
  int jitter = 0;  ///< additional random delay up to this, from a fixed seed
};

/// Nodes with kubelets (the real decision) and an exporter on each, which publishes its
/// observations after a delay: NodeResourceTopology objects and each pod's observed placement.
class SimulatedCluster {
 public:
  explicit SimulatedCluster(ExporterDelay delay, std::uint64_t seed = 1)
      : delay_(delay), random_(seed) {}

  void add_node(const std::string& name, const NodeShape& shape, const Config& config) {
    const auto [node, fresh] = nodes_.try_emplace(name, shape, config);
    node->second.published = describe_now(name);
    names_.push_back(name);
  }

  void advance(int steps) {
    for (now_ += steps; !due_.empty() && due_.front().time <= now_; due_.pop_front()) {
      Publication& next = due_.front();
      nodes_.at(next.node).published = std::move(next.topology);
      if (!next.observed_pod.empty()) observed_[next.observed_pod] = std::move(next.observed);
    }
  }

  /// Binds a pod. Returns true if the kubelet admits it; a rejected pod is not added.
  bool bind(const std::string& node, const PodSpec& pod) {
    const NodeTopology before = describe_now(node);
    if (!nodes_.at(node).kubelet.admit(pod).empty()) {
      ++rejections_;
      return false;
    }
    publish_later(node, pod.uid.value, difference(before, describe_now(node)));
    return true;
  }
  void remove(const std::string& node, const std::string& uid) {
    nodes_.at(node).kubelet.remove(uid);
    observed_.erase(uid);
    publish_later(node, "", {});
  }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const NodeTopology& published(const std::string& node) const {
    return nodes_.at(node).published;
  }
  /// Returns the published placement of a pod, as for an annotation; null: none yet.
  [[nodiscard]] nlohmann::json observed(const std::string& uid) const {
    const auto found = observed_.find(uid);
    return found == observed_.end() ? nlohmann::json() : found->second;
  }
  /// Returns the number of TopologyAffinityErrors so far.
  [[nodiscard]] int rejections() const { return rejections_; }

 private:
  struct SimulatedNode {
    SimulatedNode(const NodeShape& shape, const Config& config) : kubelet(shape, config) {}
    TestNode kubelet;
    NodeTopology published;
  };
  struct Publication {
    int time;
    std::string node;
    NodeTopology topology;
    std::string observed_pod;
    nlohmann::json observed;
  };

  [[nodiscard]] NodeTopology describe_now(const std::string& name) const {
    const TestNode& kubelet = nodes_.at(name).kubelet;
    return describe(kubelet.node(), kubelet.state(), name);
  }

  /// Returns the resources that a pod took, by zone.
  static nlohmann::json difference(const NodeTopology& before, const NodeTopology& after) {
    nlohmann::json taken = nlohmann::json::array();
    for (std::size_t zone = 0; zone < before.zones.size(); ++zone) {
      for (std::size_t i = 0; i < before.zones[zone].resources.size(); ++i) {
        const ZoneResource& was = before.zones[zone].resources[i];
        const Quantity part = was.available - after.zones[zone].resources[i].available;
        if (part.sign() <= 0) continue;
        taken.push_back({{"zone", before.zones[zone].name},
                         {"resource", was.name},
                         {"amount", base_units(was.name, part)}});
      }
    }
    return taken;
  }

  void publish_later(const std::string& node, const std::string& pod, nlohmann::json placement) {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    const auto spread = static_cast<std::uint64_t>(delay_.jitter) + 1;
    const int extra = static_cast<int>((random_ >> 33U) % spread);
    const int earliest = due_.empty() ? 0 : due_.back().time;  // keeps updates in order
    due_.push_back({std::max(earliest, now_ + delay_.least + extra), node, describe_now(node), pod,
                    std::move(placement)});
  }

  ExporterDelay delay_;
  std::uint64_t random_;
  int now_ = 0;
  int rejections_ = 0;
  std::map<std::string, SimulatedNode> nodes_;
  std::vector<std::string> names_;
  std::deque<Publication> due_;
  std::map<std::string, nlohmann::json> observed_;
};

/// A scheduler that only knows what exporters published and which pods it has bound.
class SimulatedScheduler {
 public:
  enum class Reconstruction { kOff, kOn };
  SimulatedScheduler(SimulatedCluster& cluster, Reconstruction reconstruction)
      : cluster_(&cluster), reconstruction_(reconstruction) {}

  /// Runs one scheduling cycle for one pod: binds it to the best node, if any. Returns "" if no
  /// node fits, otherwise the node's name, followed by '!' if its kubelet rejected the pod.
  std::string schedule(const PodSpec& pod) {
    View view = look();
    PodQuery query(view.fleet, pod);
    for (std::size_t node = 0; node < view.fleet.size(); ++node) {
      if (!query.predict(node, ScoringStrategy::kLeastNumaNodes).admits()) continue;
      const std::string& name = view.fleet.name(node);
      if (!cluster_->bind(name, pod)) return name + "!";
      bound_.push_back({pod.uid.value, name, to_json(view.fleet, node, query.place(node))});
      return name;
    }
    return "";
  }

  /// Evicts bound pods one by one until `pod` fits somewhere. Returns the evicted pods.
  std::vector<std::string> preempt_for(const PodSpec& pod) {
    View view = look();
    Ledger ledger(view.fleet);
    for (const BoundPod& bound : view.bound) (void)ledger.add_bound(bound);
    for (const BoundPod& victim : view.bound) {
      if (fits(view.fleet, pod)) break;
      const Ledger::Mark mark = ledger.mark();
      (void)ledger.remove(victim.uid);
      if (!fits(view.fleet, pod)) ledger.discard(mark);
    }
    std::vector<std::string> victims;
    for (const PodUid& uid : ledger.evictions()) victims.push_back(uid.value);
    for (const std::string& uid : victims) forget(uid);
    return victims;
  }

  /// Handles the deletion of a pod.
  void forget(const std::string& uid) {
    const auto known = std::find_if(bound_.begin(), bound_.end(),
                                    [&](const Record& record) { return record.uid == uid; });
    cluster_->remove(known->node, uid);
    bound_.erase(known);
  }

 private:
  struct Record {
    std::string uid;
    std::string node;
    nlohmann::json predicted;
  };
  struct View {
    Fleet fleet;
    std::vector<BoundPod> bound;
  };

  static bool fits(const Fleet& fleet, const PodSpec& pod) {
    PodQuery query(fleet, pod);
    for (std::size_t node = 0; node < fleet.size(); ++node) {
      if (query.predict(node, ScoringStrategy::kLeastNumaNodes).admits()) return true;
    }
    return false;
  }

  /// Returns the scheduler's current view.
  [[nodiscard]] View look() const {
    View view;
    for (const std::string& name : cluster_->names()) {
      (void)view.fleet.add(cluster_->published(name));
    }
    for (const Record& record : bound_) {
      nlohmann::json pod = {{"pod", {{"uid", record.uid}, {"namespace", ""}, {"name", ""}}},
                            {"node", record.node}};
      pod["predicted"] = record.predicted;
      pod["observed"] = cluster_->observed(record.uid);
      view.bound.push_back(bound_pod_from_json(view.fleet, pod).value());
    }
    if (reconstruction_ == Reconstruction::kOn) reconstruct(view.fleet, view.bound);
    return view;
  }

  SimulatedCluster* cluster_;
  Reconstruction reconstruction_;
  std::vector<Record> bound_;
};

}  // namespace pinfold::test
