#include <algorithm>
#include <utility>

#include "pinfold/agent/fields.hpp"
#include "pinfold/decide/fields.hpp"
#include "pinfold/reconfigure/fields.hpp"

namespace pinfold::agent {
namespace {

using fields::Fields;

/// A planned container with everything that a Reconfiguration says about it.
struct ContainerOfPlan : PlannedMove {
  bool is_parked = false;
  std::vector<std::string> steps;
};

void describe(Fields& fields, ContainerOfPlan& container) {
  fields.type("PlannedContainer", "What a plan does with a container.");
  pinfold::describe(fields, container.container);
  pinfold::describe(fields, container.planned);
  fields.member("parked", container.is_parked,
                "It keeps none of its CPUs, so it runs on shared CPUs while they are swapped.");
  fields.member("steps", container.steps, "Writes to its cpuset, in order.");
}

struct PodShortOfRequests {
  PodRef pod;
  Rejection rejection;
};

void describe(Fields& fields, PodShortOfRequests& pod) {
  fields.type(
      "ShortOfRequests",
      "A pod that a kubelet would reject when it starts, because of the sum of all requests.");
  fields.member("pod", pod.pod, "");
  fields.member("rejection", pod.rejection, "");
}

std::vector<ContainerOfPlan> containers_of(const Reconfiguration& planned) {
  std::vector<ContainerOfPlan> out;
  for (const PlannedContainer& container : planned.plan.containers) {
    ContainerOfPlan& one = out.emplace_back();
    one.container = {ref_of(planned.pods, container.id.pod), container.id.name};
    one.planned = container;
    one.is_parked = std::find(planned.parked.begin(), planned.parked.end(), container.id) !=
                    planned.parked.end();
    if (const auto* const steps = planned.steps.find(container.id)) one.steps = *steps;
  }
  return out;
}

void note(const PodRef& pod, Reconfiguration& planned) {
  if (!pod.name.empty()) planned.pods.insert_or_assign(pod.uid, pod);
}

void take(std::vector<ContainerOfPlan> containers, Reconfiguration& planned) {
  planned.plan.containers.clear();
  for (ContainerOfPlan& container : containers) {
    const ContainerId id = id_of(container.container);
    note(container.container.pod, planned);
    container.planned.id = id;
    planned.plan.containers.push_back(std::move(container.planned));
    if (container.is_parked) planned.parked.push_back(id);
    if (!container.steps.empty()) planned.steps[id] = std::move(container.steps);
  }
}

}  // namespace

void describe(Fields& fields, Reconfiguration& planned) {
  fields.type("Plan", "What each container of the node keeps, and where it moves to.");
  fields.member("differences", planned.differences,
                "How the node changes: \"reservedSystemCPUs: '0' becomes '0-1'\".");
  auto containers = containers_of(planned);
  fields.member("containers", containers, "");
  if (fields.reads()) take(std::move(containers), planned);
  std::vector<PodRef> evicted;
  for (const PodUid& uid : planned.plan.evicted) evicted.push_back(ref_of(planned.pods, uid));
  fields.member("evicted", evicted, "Pods that no longer fit.");
  if (fields.reads()) {
    planned.plan.evicted.clear();
    for (const PodRef& pod : evicted) {
      note(pod, planned);
      planned.plan.evicted.push_back(pod.uid);
    }
  }
  fields.member("cost", planned.plan.cost, "");
  fields.member("optimal", planned.plan.optimal, "No plan costs less; false for an undo.");
  std::vector<PodShortOfRequests> short_of_requests;
  for (const ShortOfRequests& pod : planned.plan.short_of_requests) {
    short_of_requests.push_back({ref_of(planned.pods, pod.pod), pod.why});
  }
  fields.member("shortOfRequests", short_of_requests, "");
  if (fields.reads()) {
    planned.plan.short_of_requests.clear();
    for (PodShortOfRequests& pod : short_of_requests) {
      note(pod.pod, planned);
      planned.plan.short_of_requests.push_back({pod.pod.uid, std::move(pod.rejection)});
    }
  }
  fields.member("undo", planned.is_undo, "It restores what was before the last change.");
}

}  // namespace pinfold::agent
