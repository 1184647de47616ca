#include "pinfold/nri_plugin/follower.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "enforcer.hpp"
#include "observer.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/nri_pods/plan.hpp"

namespace pinfold::nri {

using service::NriMode;
using service::PodLevelResources;

double age_of(pid_t process) {
  const auto found = process <= 0 ? std::nullopt : enforce::identify(process);
  timespec now{};
  if (!found || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return std::max(0.0,
                  static_cast<double>(now.tv_sec) - static_cast<double>(found->start_time) / ticks);
}

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
