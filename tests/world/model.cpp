#include "model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pinfold::world {
namespace {

using agent::AgentState;

struct Expect {
  const Node& node;
  const AgentState& state;
  const CpuSet& offline;
  const PlacesOfPods& places;

  [[nodiscard]] Expected failed(std::string why) const {
    Expected expected{state};
    expected.error = std::move(why);
    return expected;
  }

  Expected operator()(const verbs::Admit& request) const {
    Expected expected{state};
    for (const PodSpec& pod : request.pods) {
      const auto place = places.find(pod.uid);
      Decision decision = decide_keeping(node, std::move(expected.next.node), pod,
                                         place == places.end() ? Places() : place->second, nullptr,
                                         nullptr, AdmissionChecks::kManagersAndRequests);
      auto& rejection = expected.rejections.emplace_back();
      if (auto* const rejected = std::get_if<Rejected>(&decision)) {
        expected.next.node = std::move(rejected->next);
        rejection = std::move(rejected->why);
      } else {
        expected.next.node = std::move(std::get<Admitted>(decision).next);
        std::erase_if(expected.next.removed,
                      [&](const ContainerId& id) { return id.pod == pod.uid; });
        expected.next.ending.erase(pod.uid);
      }
      remove_inactive(expected.next);
    }
    const auto& exclusive = expected.next.node.cpu.assignments;
    const bool is_any_new = std::any_of(exclusive.begin(), exclusive.end(), [&](const auto& entry) {
      const CpuSet* const had = state.node.cpu.assignments.find(entry.id());
      return had == nullptr || !had->contains_all(entry.value);
    });
    if (is_any_new && !offline.empty()) return failed("CPUs are offline");
    return expected;
  }
  Expected operator()(const verbs::Start& request) const {
    auto next = start_container(node, state.node, request.container);
    if (!next) return failed(next.error().message);
    Expected expected{state};
    expected.next.node = *std::move(next);
    expected.next.removed.erase(request.container);
    return expected;
  }
  Expected operator()(const verbs::Remove& request) const {
    Expected expected{state};
    if (request.container.empty()) {
      const bool is_known =
          state.node.find(request.pod) != nullptr || state.node.held.contains(request.pod);
      if (!is_known) return failed("no such pod");
      expected.next.node = remove_pod(node, state.node, request.pod);
      remove_inactive(expected.next);
      return expected;
    }
    const ContainerId id{request.pod, request.container};
    if (!container_resources(node, state.node, id)) return failed("no such container");
    expected.next.node = remove_container(node, state.node, id);
    expected.next.removed.insert(id);
    expected.next.adopted.erase(id);
    expected.next.end_with_group.erase(id);
    expected.next.unread.erase(id);
    return expected;
  }
  Expected operator()(const verbs::Resize& request) const {
    if (state.removed.contains(request.request.container)) return failed("it was removed");
    auto decision =
        resize(node, state.node, request.request, nullptr, AdmissionChecks::kManagersAndRequests);
    if (!decision) return failed(decision.error().message);
    Expected expected{state};
    if (auto* const refused = std::get_if<NotResized>(&*decision)) {
      if (offline.empty()) advise_nearest(node, state.node, request.request, *refused);
      expected.refused = std::move(*refused);
      return expected;
    }
    auto& resized = std::get<Resized>(*decision);
    if (!resized.before.contains_all(resized.after) && !offline.empty()) {
      return failed("CPUs are offline");
    }
    expected.next.node = std::move(resized.next);
    return expected;
  }
  template <class Other>
  Expected operator()(const Other& /*request*/) const {
    return {state};
  }
};

/// Returns the part of a state that survives a restart.
AgentState kept(AgentState state) {
  state.node.affinity.clear();
  state.node.cpu = CpuState{state.node.cpu.checkpoint()};
  state.node.memory = MemoryState{state.node.memory.checkpoint()};
  state.kubelet_profile.reset();
  return state;
}

}  // namespace

Expected expect(const Node& node, const AgentState& state, const CpuSet& offline,
                const verbs::Action& action, const PlacesOfPods& places) {
  return std::visit(Expect{node, state, offline, places}, action);
}

std::vector<AgentState> reachable(const Node& node, const AgentState& first, const CpuSet& offline,
                                  const std::vector<verbs::Action>& changes, Committed committed,
                                  const PlacesOfPods& places) {
  std::vector<AgentState> states = {first};
  for (const verbs::Action& change : changes) {
    std::vector<AgentState> next;
    const auto begin = committed == Committed::kPrefix ? states.end() - 1 : states.begin();
    for (auto state = begin; state != states.end(); ++state) {
      auto expected = expect(node, *state, offline, change, places);
      next.push_back(expected.error.empty() ? std::move(expected.next) : *state);
    }
    if (committed == Committed::kAll) states.clear();
    states.insert(states.end(), next.begin(), next.end());
  }
  return states;
}

AgentState with_plan(AgentState state, const NodeState& next) {
  state.node = next;
  remove_inactive(state);
  return state;
}

bool is_same(const AgentState& a, const AgentState& b) { return a == b || kept(a) == kept(b); }

std::string describe(const AgentState& state) {
  std::string text = "shared " + state.node.cpu.default_set.to_string();
  for (const auto& entry : state.node.cpu.assignments) {
    if (state.node.find(entry.pod) != nullptr) continue;
    text += fmt::format(" held {}/{}={}", entry.pod, entry.name, entry.value.to_string());
  }
  for (const ActivePod& pod : state.node.pods) {
    text += " " + pod.spec.uid.value;
    for (const Container& container : pod.spec.containers) {
      const ContainerId id{pod.spec.uid, container.name};
      const CpuSet* const cpus = state.node.cpu.assignments.find(id);
      text += fmt::format("/{}={}{}{}", container.name, cpus == nullptr ? "" : cpus->to_string(),
                          pod.started.contains(container.name) ? "+" : "",
                          state.removed.contains(id) ? "-" : "");
    }
  }
  return text;
}

}  // namespace pinfold::world
