#include "pinfold/cluster/cluster_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pinfold/predict/pod_query.hpp"

namespace pinfold::cluster {

using kube::Time;
using kube::WatchedPod;

ClusterView::ClusterView(ClusterOptions options)
    : options_(std::move(options)), fleet_(options_.ignored) {}

void ClusterView::set_node(const std::string& name, const std::string& created) {
  created_[name] = created;
  compare_times(name);
}

void ClusterView::remove_node(const std::string& name) {
  created_.erase(name);
  compare_times(name);
}

void ClusterView::compare_times(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  const auto created = created_.find(name);
  const std::string& written = found->second.written;
  found->second.is_outdated =
      created != created_.end() && !written.empty() && written < created->second;
}

void ClusterView::set_topology(NodeTopology topology, const std::string& written) {
  const std::string name = topology.name;
  unread_.erase(name);
  const auto known = nodes_.find(name);
  if (known == nodes_.end() || known->second.topology.warnings != topology.warnings) {
    for (const std::string& warning : topology.warnings) {
      warnings_.push_back(fmt::format("node '{}': {}", name, warning));
    }
  }
  const auto taken = known == nodes_.end() ? introduce(std::move(topology))
                                           : renew(known->second, std::move(topology));
  if (!taken) return set_unread({name, taken.error().message});
  NodeAccount& node = nodes_[name];
  node.written = written;
  compare_times(name);
  for (PodAccount* const pod : pods_on(node)) judge(*pod, node.number);
  changed_.insert(name);
}

Result<void> ClusterView::renew(NodeAccount& node, NodeTopology topology) {
  const std::size_t shape = fleet_.shape_number(node.number);
  PINFOLD_TRY(fleet_.replace(node.number, topology));
  std::vector<PodAccount*> pods = pods_on(node);
  for (PodAccount& pod : node.departed) pods.push_back(&pod);
  mark_shown(node.topology, topology, pods);
  node.topology = std::move(topology);
  if (fleet_.shape_number(node.number) != shape) {
    ++waste_;
    in_flight_.forget_node(node.number);
  }
  return {};
}

Result<void> ClusterView::introduce(NodeTopology topology) {
  auto number = fleet_.find(topology.name);  // of an earlier node of this name
  if (number) {
    PINFOLD_TRY(fleet_.replace(*number, topology));
  } else {
    PINFOLD_LET(number, fleet_.add(topology));
  }
  NodeAccount& node = nodes_[topology.name];
  node.number = *number;
  if (auto waiting = waiting_.extract(topology.name)) node.pods = std::move(waiting.mapped());
  node.topology = std::move(topology);
  return {};
}

void ClusterView::set_unread(UnreadTopology unread) {
  drop(unread.name);
  std::string& why = unread_[unread.name];
  if (why == unread.why) return;
  why = std::move(unread.why);
  warnings_.push_back(fmt::format("node '{}': nothing is predicted: {}", unread.name, why));
}

void ClusterView::remove_topology(const std::string& name) {
  unread_.erase(name);
  drop(name);
}

/// A node without zones stays in the fleet until the fleet is rebuilt: nothing is predicted for it.
void ClusterView::drop(const std::string& name) {
  const auto known = nodes_.find(name);
  if (known == nodes_.end()) return;
  NodeAccount& node = known->second;
  NodeTopology empty;
  empty.name = name;
  (void)fleet_.replace(node.number, empty);  // names no resource, so it cannot fail
  in_flight_.forget_node(node.number);
  if (!node.pods.empty()) waiting_[name] = std::move(node.pods);
  changed_.erase(name);
  nodes_.erase(known);
  ++waste_;
}

void ClusterView::set_pod(WatchedPod pod, Time now) {
  if (pod.is_rejected) distrust(pod, now);
  if (pod.has_ended) return remove_pod(pod.spec.uid);
  if (pod.node.empty()) {
    unbound_.insert(pod.spec.uid);
    return;
  }
  const auto known = pods_.find(pod.spec.uid);
  if (known == pods_.end()) return bind(std::move(pod), now);
  note_warning(known->second, pod.warning);
  if (known->second.observed == pod.observed) return;
  known->second.observed = std::move(pod.observed);
  changed_.insert(known->second.node);
}

void ClusterView::distrust(const WatchedPod& rejected, Time now) {
  const PodUid& uid = rejected.spec.uid;
  const bool is_news = pods_.contains(uid) || unbound_.contains(uid) || in_flight_.contains(uid);
  if (!is_news) return;  // it stays Failed for hours, and may change during that time
  ++rejections_;
  if (const auto node = nodes_.find(rejected.node); node != nodes_.end()) {
    distrusted_[node->second.number] = now + options_.exporter_delay;
  }
}

bool ClusterView::is_distrusted(std::size_t number, Time now) const {
  const auto found = distrusted_.find(number);
  return found != distrusted_.end() && now < found->second;
}

void ClusterView::bind(WatchedPod pod, Time now) {
  note_due(now);
  const PodUid uid = pod.spec.uid;
  const bool was_seen = unbound_.erase(uid) > 0;
  in_flight_.remove(fleet_, uid);
  PodAccount& account = pods_[uid];
  account.spec = std::move(pod.spec);
  account.node = std::move(pod.node);
  account.observed = std::move(pod.observed);
  note_warning(account, pod.warning);
  if (was_seen || !is_listing_pods_) account.bound_at = now;
  const auto node = nodes_.find(account.node);
  if (node == nodes_.end()) {
    waiting_[account.node].insert(uid);
    return;
  }
  forget_departed(node->second, now);
  judge(account, node->second.number);
  if (account.bound_at && account.consumes) {
    account_for(node->second, now, Estimate::kLikely);
    predict(account, node->second);
    due_[now + options_.exporter_delay].insert(account.node);
  }
  node->second.pods.insert(uid);
  changed_.insert(account.node);
}

/// Passes on a warning about a pod only once, although each change shows the pod again.
void ClusterView::note_warning(PodAccount& pod, const std::string& warning) {
  if (pod.warning == warning) return;
  pod.warning = warning;
  if (warning.empty()) return;
  warnings_.push_back(fmt::format("pod '{}': {}", to_string(ref_of(pod.spec)), warning));
}

void ClusterView::predict(PodAccount& pod, const NodeAccount& node) {
  const Placement placement = PodQuery(fleet_, pod.spec).place(node.number);
  if (!placement.shares.empty()) pod.predicted = amounts_of(fleet_, node.number, placement);
}

void ClusterView::judge(PodAccount& pod, std::size_t number) const {
  pod.consumes = PodQuery(fleet_, pod.spec).requests_zones(number);
}

void ClusterView::remove_pod(const PodUid& uid) {
  unbound_.erase(uid);
  in_flight_.remove(fleet_, uid);
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return;
  const std::string name = pod->second.node;
  if (const auto node = nodes_.find(name); node != nodes_.end()) {
    node->second.pods.erase(uid);
    changed_.insert(name);
    PodAccount& account = pod->second;
    const bool is_hidden = account.bound_at && !account.is_shown && account.known() != nullptr;
    if (is_hidden) node->second.departed.push_back(std::move(account));
  } else if (const auto waiting = waiting_.find(name); waiting != waiting_.end()) {
    waiting->second.erase(uid);
    if (waiting->second.empty()) waiting_.erase(waiting);
  }
  pods_.erase(pod);
}

Fleet& ClusterView::fleet(Time now) {
  rebuild_if_wasteful();
  in_flight_.expire(fleet_, now);
  std::erase_if(distrusted_, [&](const auto& entry) { return entry.second <= now; });
  note_due(now);
  for (const std::string& name : changed_) {
    const auto node = nodes_.find(name);
    if (node == nodes_.end()) continue;
    forget_departed(node->second, now);
    account_for(node->second, now, Estimate::kSafe);
    in_flight_.charge_node(fleet_, node->second.number);
  }
  changed_.clear();
  return fleet_;
}

void ClusterView::note_due(Time now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    changed_.merge(due_.begin()->second);
    due_.erase(due_.begin());
  }
}

void ClusterView::account_for(const NodeAccount& node, Time now, Estimate estimate) {
  (void)fleet_.replace(node.number, node.topology);  // has succeeded before
  std::vector<const PodAccount*> pods;
  for (const PodUid& uid : node.pods) pods.push_back(&pods_.at(uid));
  account(fleet_, node.number, pods, now, options_.exporter_delay, estimate);
}

void ClusterView::forget_departed(NodeAccount& node, Time now) const {
  std::erase_if(node.departed, [&](const PodAccount& pod) {
    return pod.is_shown || !pod.is_young(now, options_.exporter_delay);
  });
}

std::vector<PodAccount*> ClusterView::pods_on(const NodeAccount& node) {
  std::vector<PodAccount*> pods;
  for (const PodUid& uid : node.pods) pods.push_back(&pods_.at(uid));
  return pods;
}

void ClusterView::rebuild_if_wasteful() {
  constexpr std::size_t kLittle = 1000;
  if (waste_ < kLittle || waste_ < nodes_.size()) return;
  Fleet fresh(options_.ignored);
  for (auto& [name, node] : nodes_) {
    node.number = *fresh.add(node.topology);  // names are unique, and no resource is new
    changed_.insert(name);
  }
  fleet_ = std::move(fresh);
  in_flight_.clear();
  distrusted_.clear();
  waste_ = 0;
}

std::optional<std::size_t> ClusterView::number_of(std::string_view node) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || found->second.is_outdated) return std::nullopt;
  return found->second.number;
}

const PodAccount* ClusterView::find_pod(const PodUid& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

ClusterView::Counts ClusterView::counts() const {
  std::size_t departed = 0;
  for (const auto& [name, node] : nodes_) departed += node.departed.size();
  return {.nodes = created_.size(),
          .topologies = nodes_.size(),
          .unread = unread_.size(),
          .pods = pods_.size(),
          .departed = departed,
          .in_flight = in_flight_.size(),
          .rejections = rejections_,
          .bytes = fleet_.memory()};
}

std::vector<std::string> ClusterView::take_warnings() { return std::exchange(warnings_, {}); }

}  // namespace pinfold::cluster
