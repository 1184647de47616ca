#include "pinfold/nri_plugin/make_follower.hpp"

#include <utility>

#include "enforcer.hpp"
#include "observer.hpp"
#include "pinfold/nri_pods/plan.hpp"

namespace pinfold::nri {

Result<std::unique_ptr<Follower>> make_follower(settings::NriMode mode, agent::NodeAgent& agent,
                                                FollowerOptions options) {
  PINFOLD_TRY(check_node(agent.node()));
  if (!agent.enforces()) {
    return fail(ErrorCode::kUnsupported, "nri: needs cgroups: expected 'enforce: true'");
  }
  if (mode == settings::NriMode::kObserve) {
    return std::make_unique<Observer>(agent.node(), std::move(options));
  }
  auto enforcer = std::make_unique<Enforcer>(std::move(options));
  enforcer->show_groups(agent);
  return enforcer;
}

}  // namespace pinfold::nri
