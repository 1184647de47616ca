#include "pinfold/nri_plugin/follower.hpp"

#include "enforcer.hpp"
#include "observer.hpp"
#include "pinfold/nri_pods/plan.hpp"

namespace pinfold::nri {

using service::NriMode;
using service::PodLevelResources;

Follower::Follower(const Node& node, FollowerOptions options)
    : options_(std::move(options)),
      premises_(make_premises(node, options_.pod_level == PodLevelResources::kAny
                                        ? PodLevelUse::kAnyPod
                                        : PodLevelUse::kAnnotatedPods)) {
  if (options_.pod_level == PodLevelResources::kNone) premises_.gates.pod_level_resources = false;
}

api::StateChangeEvent Follower::event_of(const api::StopContainerRequest& request) {
  api::StateChangeEvent event;
  event.set_event(api::Event::STOP_CONTAINER);
  *event.mutable_pod() = request.pod();
  *event.mutable_container() = request.container();
  return event;
}

Result<std::unique_ptr<Follower>> make_follower(NriMode mode, agent::NodeAgent& agent,
                                                FollowerOptions options) {
  PINFOLD_TRY(check_node(agent.node()));
  if (!agent.enforces()) {
    return fail(ErrorCode::kUnsupported, "nri: needs cgroups: expected 'enforce: true'");
  }
  if (mode == NriMode::kObserve) {
    return std::make_unique<Observer>(agent.node(), std::move(options));
  }
  auto enforcer =
      std::make_unique<Enforcer>(agent.node(), agent.desired().pool, std::move(options));
  agent.set_confine_others(
      [one = enforcer.get()](const agent::NodeAgent& now, const CpuSet& allowed) {
        one->leave_room(now, allowed);
      });
  return enforcer;
}

}  // namespace pinfold::nri
