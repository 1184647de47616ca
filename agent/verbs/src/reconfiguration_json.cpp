#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "pinfold/verbs/reconfigure.hpp"

namespace pinfold::verbs {
namespace {

using nlohmann::json;

json blocks_json(const std::vector<MemoryBlock>& blocks) {
  json out = json::array();
  for (const MemoryBlock& block : blocks) {
    out.push_back(
        {{"type", block.type}, {"numaNodes", block.numa_affinity}, {"bytes", block.size}});
  }
  return out;
}

json rejection_json(const Rejection& rejection) {
  return {{"reason", rejection.reason}, {"message", rejection.message}};
}

json container_json(const agent::Reconfiguration& planned, const PlannedContainer& container) {
  const auto cpus_json = [](const std::optional<CpuSet>& cpus) {
    return cpus ? json(cpus->to_string()) : json();
  };
  json out = {{"uid", container.id.pod.value},
              {"pod", pod_name(planned, container.id.pod)},
              {"container", container.id.name},
              {"change", to_string(container.change)},
              {"cpusBefore", cpus_json(container.cpus_before)},
              {"cpusAfter", cpus_json(container.cpus_after)},
              {"memoryBefore", blocks_json(container.memory_before)},
              {"memoryAfter", blocks_json(container.memory_after)},
              {"cpusMoved", container.cpus_moved},
              {"bytesMoved", container.bytes_moved},
              {"parked", std::find(planned.parked.begin(), planned.parked.end(), container.id) !=
                             planned.parked.end()},
              {"why", container.why},
              {"steps", json::array()}};
  if (const auto* const steps = planned.steps.find(container.id)) out["steps"] = *steps;
  if (container.rejection) {
    out["reason"] = container.rejection->reason;
    out["message"] = container.rejection->message;
  }
  return out;
}

json seconds_json(const std::optional<std::chrono::nanoseconds>& duration) {
  return duration ? json(std::chrono::duration<double>(*duration).count()) : json();
}

void add_room(const agent::Room& room, json& out) {
  out["pod"] = room.pod;
  out["active"] = room.is_active;
  out["admitted"] = !room.rejection;
  out["possible"] = room.is_possible;
  out["reason"] = room.rejection ? room.rejection->reason : "";
  out["message"] = room.rejection ? room.rejection->message : "";
  out["limit"] = room.limit ? room.limit->message : "";
}

}  // namespace

json to_json(const agent::Reconfiguration& planned) {
  json short_of_requests = json::array();
  for (const ShortOfRequests& pod : planned.plan.short_of_requests) {
    json entry = rejection_json(pod.why);
    entry["uid"] = pod.pod.value;
    entry["pod"] = pod_name(planned, pod.pod);
    short_of_requests.push_back(std::move(entry));
  }
  const PlanCost& cost = planned.plan.cost;
  json containers = json::array();
  for (const PlannedContainer& container : planned.plan.containers) {
    containers.push_back(container_json(planned, container));
  }
  json evicted = json::array();
  for (const PodUid& uid : planned.plan.evicted) evicted.push_back(uid.value);
  json out = {{"differences", planned.differences},
              {"containers", std::move(containers)},
              {"evicted", std::move(evicted)},
              {"cost",
               {{"podsEvicted", cost.pods_evicted},
                {"podsAgainstRules", cost.pods_against_rules},
                {"containersMoved", cost.containers_moved},
                {"cpusMoved", cost.cpus_moved},
                {"bytesMoved", cost.bytes_moved}}},
              {"optimal", planned.plan.optimal},
              {"shortOfRequests", std::move(short_of_requests)},
              {"undo", planned.is_undo}};
  return out;
}

json measured_json(const Reconfigured& done) {
  json out = json::array();
  for (const agent::MeasuredContainer& container : done.change.measured) {
    out.push_back({{"uid", container.id.pod.value},
                   {"pod", pod_name(done.planned, container.id.pod)},
                   {"container", container.id.name},
                   {"parkedSeconds", seconds_json(container.parked)},
                   {"movingPagesSeconds", seconds_json(container.moving_pages)},
                   {"bytesMoved", container.bytes_moved}});
  }
  return out;
}

json to_json(const Reconfigured& done) {
  json out = to_json(done.planned);
  if (done.planned.room) add_room(*done.planned.room, out);
  out["applied"] = done.is_applied;
  if (done.is_applied) out["measured"] = measured_json(done);
  if (done.change.not_enforced) out["error"] = done.change.not_enforced->message;
  return out;
}

}  // namespace pinfold::verbs
