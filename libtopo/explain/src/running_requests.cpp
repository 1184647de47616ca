#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "request_change.hpp"
#include "trials.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

/// A container of a running pod that could request less.
struct Resizable {
  const PodSpec* pod = nullptr;
  RequestChange change;

  /// Less important pods first, then the smallest part of what a container requests.
  [[nodiscard]] auto rank() const {
    return std::tuple(pod->is_node_critical, pod->priority.value, change.size());
  }
};

/// Returns whether the pod's requests can change while it runs without another QoS class.
bool can_be_resized(const Failure& failure, const PodSpec& pod) {
  return pod.uid != failure.pod.uid && !pod.is_static && !pod.has_pod_level_resources() &&
         qos_class(pod, failure.node.gates()) == QosClass::kBurstable;
}

/// Adds the containers that request more than is missing. Their limits stay: the pod remains
/// Burstable, and a container is not throttled more than before.
void add_containers(const PodSpec& pod, const Amounts& amounts, std::vector<Resizable>& all) {
  const Quantity lack = amounts.needed - amounts.places.front().free;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const Quantity now = requested(pod, i, amounts.resource);
    if (pod.containers[i].kind == ContainerKind::kInit || now <= lack) continue;
    const Quantity to = rounded_down(amounts.resource, now - lack);
    if (to.sign() <= 0) continue;
    all.push_back({&pod, {i, amounts.resource, now, to}});
    all.back().change.keeps_limit = true;
  }
}

/// Returns the containers whose smaller request might suffice.
std::vector<Resizable> resizable_containers(const Failure& failure) {
  std::vector<Resizable> all;
  const std::string& resource = failure.amounts.front().resource;
  if (resource != "cpu" && resource != "memory") return all;
  for (const ActivePod& active : failure.state.pods) {
    if (!can_be_resized(failure, active.spec)) continue;
    add_containers(active.spec, failure.amounts.front(), all);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Resizable& a, const Resizable& b) { return a.rank() < b.rank(); });
  return all;
}

}  // namespace

std::vector<Remedy> running_requests(const Failure& failure, Trials& trials) {
  if (failure.step.source != kRequests || failure.amounts.size() != 1) return {};
  for (const auto& [pod, change] : resizable_containers(failure)) {
    PodSpec smaller = changed(*pod, {change});
    NodeState state = failure.state;
    state.pods.replace_spec(state.pods.find(pod->uid), smaller);
    if (!trials.admits(failure.node, std::move(state), failure.pod)) continue;
    Remedy remedy;
    remedy.kind = Remedy::Kind::kResize;
    remedy.text = fmt::format("{} is resized in place: {}", name_of(*pod), describe(*pod, change));
    remedy.pod = std::move(smaller);
    return {std::move(remedy)};
  }
  return {};
}

}  // namespace pinfold::explain_detail
