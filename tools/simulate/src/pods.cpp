#include "pinfold/simulate/pods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "pinfold/decide/acting_quirks.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::simulate {
namespace {

std::string full_name(const PodSpec& pod) { return pod.namespace_name + "/" + pod.name; }

Result<void> start_all(const Node& node, NodeState& state, const PodSpec& pod) {
  for (const Container& container : pod.containers) {
    PINFOLD_TRY_WRAP(start_in_place(node, state, {pod.uid, container.name}),
                     fmt::format("start {}/{}", full_name(pod), container.name));
  }
  return {};
}

/// A node during the simulation.
class Course {
 public:
  explicit Course(const Node& node) : node_(node) { course_.last = empty_state(node); }

  Result<void> arrive(const PodSpec& pod) {
    PodOutcome outcome{ref_of(pod), std::nullopt, false, {}};
    outcome.notes = acting_quirks(node_, course_.last, pod);
    Decision decision = decide(node_, std::move(course_.last), pod, nullptr, nullptr,
                               AdmissionChecks::kManagersAndRequests);
    if (auto* const rejected = std::get_if<Rejected>(&decision)) {
      outcome.rejection = std::move(rejected->why);
      course_.last = std::move(rejected->next);
    } else {
      course_.last = std::move(std::get<Admitted>(decision).next);
      PINFOLD_TRY(start_all(node_, course_.last, pod));
      outcome.placements = placements_of(node_, course_.last, *course_.last.find(pod.uid));
      active_[pod.uid] = course_.pods.size();
    }
    course_.pods.push_back(std::move(outcome));
    return {};
  }

  void go(const PodUid& uid) {
    const auto found = active_.find(uid);
    if (found == active_.end()) return;
    course_.pods[found->second].removed = true;
    active_.erase(found);
    course_.last = remove_pod(node_, std::move(course_.last), uid);
  }

  void count() {
    const std::size_t exclusive = exclusive_cpus(course_.last).size();
    course_.exclusive_sum += exclusive;
    course_.exclusive_peak = std::max(course_.exclusive_peak, exclusive);
    ++course_.events;
  }

  [[nodiscard]] Simulation take() { return std::move(course_); }

 private:
  const Node& node_;
  Simulation course_;
  std::map<PodUid, std::size_t> active_;
};

}  // namespace

Result<std::vector<PodEvent>> arrivals(const std::vector<PodSpec>& pods) {
  std::vector<PodEvent> events;
  std::set<PodUid> uids;
  for (const PodSpec& pod : pods) {
    if (!uids.insert(pod.uid).second) {
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("pod {}: uid '{}': a second pod with this uid, expected each pod once",
                      printable(full_name(pod)), printable(pod.uid.value)));
    }
    events.emplace_back(pod);
  }
  return events;
}

std::vector<PlacedContainer> placements_of(const Node& node, const NodeState& state,
                                           const ActivePod& pod) {
  std::vector<PlacedContainer> placements;
  for (ContainerResources& resources : all_container_resources(node, state, pod)) {
    const Container* const container = pod.spec.find(resources.name);
    if (container == nullptr || container->kind == ContainerKind::kInit) continue;
    PlacedContainer placement{resources.name,
                              Isolation::kHost,
                              {},
                              std::move(resources.memory),
                              std::move(resources.devices)};
    if (resources.cpus && !resources.cpus->empty()) {
      placement.isolation = resources.isolation;
      placement.cpus = *resources.cpus;
    }
    placements.push_back(std::move(placement));
  }
  return placements;
}

CpuSet exclusive_cpus(const NodeState& state) {
  CpuSet cpus;
  for (const auto& [pod, container, assigned] : state.cpu.assignments) cpus |= assigned;
  for (const auto& [pod, assigned] : state.cpu.pods) cpus |= assigned;
  return cpus;
}

Simulation as_it_is(const Node& node, NodeState state) {
  Simulation simulation;
  for (const ActivePod& pod : state.pods) {
    simulation.pods.push_back(
        {ref_of(pod.spec), std::nullopt, false, placements_of(node, state, pod)});
  }
  simulation.exclusive_peak = exclusive_cpus(state).size();
  simulation.exclusive_sum = simulation.exclusive_peak;
  simulation.events = 1;
  simulation.last = std::move(state);
  return simulation;
}

Result<Simulation> simulate_pods(const Node& node, const std::vector<PodEvent>& events,
                                 const Progress& progress) {
  Course course(node);
  std::size_t happened = 0;
  for (const PodEvent& event : events) {
    if (progress && !progress(happened)) break;
    if (const auto* const pod = std::get_if<PodSpec>(&event)) {
      PINFOLD_TRY(course.arrive(*pod));
    } else {
      course.go(std::get<PodUid>(event));
    }
    course.count();
    ++happened;
  }
  return course.take();
}

std::string_view to_string(PodChange change) {
  switch (change) {
    case PodChange::kMoves:
      return "moves";
    case PodChange::kRejected:
      return "rejected";
    case PodChange::kAdmitted:
      return "admitted";
    case PodChange::kSame:
      break;
  }
  return "same";
}

std::span<const PodChange> enumerators(PodChange /*type*/) {
  static constexpr std::array kAll = {PodChange::kSame, PodChange::kMoves, PodChange::kRejected,
                                      PodChange::kAdmitted};
  return kAll;
}

PodChange change_between(const PodOutcome& first, const PodOutcome& second) {
  if (first.rejection && second.rejection) return PodChange::kSame;
  if (second.rejection) return PodChange::kRejected;
  if (first.rejection) return PodChange::kAdmitted;
  return first.placements == second.placements ? PodChange::kSame : PodChange::kMoves;
}

}  // namespace pinfold::simulate
