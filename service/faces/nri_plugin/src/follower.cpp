#include "pinfold/nri_plugin/follower.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>

#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/nri_plugin/group_path.hpp"
#include "pinfold/nri_pods/plan.hpp"

namespace pinfold::nri {
namespace {

/// Returns whether a group has a limit of 0 for every size of huge pages that the machine has.
bool forbids_huge_pages(const enforce::GroupReader& group, const Machine& machine) {
  std::set<std::string> sizes;
  for (const NumaNode& numa : machine.numa_nodes()) {
    for (const auto& [resource, bytes] : numa.hugepages) {
      // "hugepages-2Mi" to "2MB"
      if (bytes > 0) sizes.insert(resource.substr(kHugePagesPrefix.size()));
    }
  }
  return std::all_of(sizes.begin(), sizes.end(), [&](std::string size) {
    size.back() = 'B';
    const auto limit = group.huge_page_limit(size);
    return limit && *limit == 0U;
  });
}

}  // namespace

using settings::PodLevelResources;

double age_of(pid_t process) {
  const auto found = process <= 0 ? std::nullopt : enforce::identify(process);
  timespec now{};
  if (!found || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return std::max(0.0,
                  static_cast<double>(now.tv_sec) - static_cast<double>(found->start_time) / ticks);
}

Premises Follower::premises(const Agent& agent) const {
  const bool is_any = options_.pod_level == PodLevelResources::kAny;
  Premises premises =
      make_premises(agent.node(), is_any ? PodLevelUse::kAnyPod : PodLevelUse::kAnnotatedPods);
  if (options_.pod_level == PodLevelResources::kNone) premises.gates.pod_level_resources = false;
  premises.has_no_huge_pages = [this, &agent](const std::string& cgroup_parent) {
    const auto directory = pod_directory(options_.mount, cgroup_parent);
    const auto group = directory ? agent.enforced()->reader(*directory)
                                 : Result<enforce::GroupReader>(fail(directory.error()));
    return group && forbids_huge_pages(*group, agent.node().machine());
  };
  return premises;
}

api::StateChangeEvent Follower::event_of(const api::StopContainerRequest& request) {
  api::StateChangeEvent event;
  event.set_event(api::Event::STOP_CONTAINER);
  *event.mutable_pod() = request.pod();
  *event.mutable_container() = request.container();
  return event;
}

}  // namespace pinfold::nri
