#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "pinfold/grpc/messages.hpp"
#include "valid_text.hpp"

namespace pinfold::grpc {
namespace {

v1::PlannedChange to_message(pinfold::Change change) {
  switch (change) {
    case pinfold::Change::kKept:
      return v1::PLANNED_CHANGE_KEPT;
    case pinfold::Change::kMoved:
      return v1::PLANNED_CHANGE_MOVED;
    case pinfold::Change::kBecomesExclusive:
      return v1::PLANNED_CHANGE_BECOMES_EXCLUSIVE;
    case pinfold::Change::kBecomesShared:
      return v1::PLANNED_CHANGE_BECOMES_SHARED;
    case pinfold::Change::kKeptAgainstRules:
      return v1::PLANNED_CHANGE_KEPT_AGAINST_RULES;
    case pinfold::Change::kEvicted:
      break;
  }
  return v1::PLANNED_CHANGE_EVICTED;
}

void fill_container(const agent::Reconfiguration& planned, const PlannedContainer& container,
                    v1::PlannedContainer& out) {
  fill(ref_of(planned.pods, container.id.pod), *out.mutable_pod());
  out.set_container(valid_text(container.id.name));
  out.set_change(to_message(container.change));
  if (container.cpus_before) out.set_cpus_before(container.cpus_before->to_string());
  if (container.cpus_after) out.set_cpus_after(container.cpus_after->to_string());
  for (const MemoryBlock& block : container.memory_before) fill(block, *out.add_memory_before());
  for (const MemoryBlock& block : container.memory_after) fill(block, *out.add_memory_after());
  out.set_moved_cpu_count(container.cpus_moved);
  out.set_moved_bytes(container.bytes_moved);
  const auto& parked = planned.parked;
  out.set_parked(std::find(parked.begin(), parked.end(), container.id) != parked.end());
  out.set_why(valid_text(container.why));
  if (container.rejection) fill(*container.rejection, *out.mutable_rejection());
  if (const auto* const steps = planned.steps.find(container.id)) {
    for (const std::string& step : *steps) out.add_steps(valid_text(step));
  }
}

void fill_plan(const agent::Reconfiguration& planned, v1::Plan& out) {
  for (const std::string& line : planned.differences) out.add_differences(valid_text(line));
  for (const PlannedContainer& container : planned.plan.containers) {
    fill_container(planned, container, *out.add_containers());
  }
  for (const PodUid& uid : planned.plan.evicted) {
    fill(ref_of(planned.pods, uid), *out.add_evicted());
  }
  const PlanCost& cost = planned.plan.cost;
  v1::PlanCost& costs = *out.mutable_cost();
  costs.set_evicted_pod_count(cost.pods_evicted);
  costs.set_against_rules_pod_count(cost.pods_against_rules);
  costs.set_moved_container_count(cost.containers_moved);
  costs.set_moved_cpu_count(cost.cpus_moved);
  costs.set_moved_bytes(cost.bytes_moved);
  out.set_optimal(planned.plan.optimal);
  for (const ShortOfRequests& pod : planned.plan.short_of_requests) {
    v1::ShortOfRequests& entry = *out.add_short_of_requests();
    fill(ref_of(planned.pods, pod.pod), *entry.mutable_pod());
    fill(pod.why, *entry.mutable_rejection());
  }
}

/// Fills the fields common to both answers: plan, applied, not_enforced and measured.
template <class Response>
void fill_outcome(const verbs::Reconfigured& outcome, Response& out) {
  fill_plan(outcome.planned, *out.mutable_plan());
  out.set_applied(outcome.is_applied);
  fill(outcome.change, out);
  for (const agent::MeasuredContainer& container : outcome.change.measured) {
    v1::MeasuredContainer& entry = *out.add_measured();
    fill(ref_of(outcome.planned.pods, container.id.pod), *entry.mutable_pod());
    entry.set_container(valid_text(container.id.name));
    using Seconds = std::chrono::duration<double>;
    if (container.parked) entry.set_parked_seconds(Seconds(*container.parked).count());
    if (container.moving_pages) {
      entry.set_moving_pages_seconds(Seconds(*container.moving_pages).count());
    }
    entry.set_moved_bytes(container.bytes_moved);
  }
}

}  // namespace

void fill(const verbs::Reconfigured& outcome, v1::ReconfigureResponse& out) {
  fill_outcome(outcome, out);
  out.set_other_node(outcome.other_node.has_value());
  for (const std::string& warning : outcome.warnings) out.add_warnings(valid_text(warning));
}

void fill(const verbs::Reconfigured& outcome, v1::DefragmentResponse& out) {
  fill_outcome(outcome, out);
  if (!outcome.planned.room) return;
  const agent::Room& room = *outcome.planned.room;
  v1::Room& message = *out.mutable_room();
  fill(room.pod, *message.mutable_pod());
  message.set_active(room.is_active);
  message.set_admitted(!room.rejection);
  message.set_possible(room.is_possible);
  if (room.rejection) fill(*room.rejection, *message.mutable_rejection());
  if (room.limit) fill(*room.limit, *message.mutable_limit());
}

}  // namespace pinfold::grpc
