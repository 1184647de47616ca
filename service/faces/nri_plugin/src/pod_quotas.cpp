#include "pod_quotas.hpp"

#include <fmt/format.h>

#include <optional>

#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/followed_runtime.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/enforce/cpu_quota.hpp"
#include "pinfold/nri_plugin/group_path.hpp"

namespace pinfold::nri {
namespace {

using agent::LogLevel;
using enforce::CpuQuota;

/// Returns the quota that the group of a pod gets instead of `has`; nullopt to keep it.
std::optional<CpuQuota> find_change(const LinuxResources& desired, const CpuQuota& has,
                                    const api::LinuxCPU& of_sandbox) {
  if (*desired.cpu_quota == -1) return has.quota_us ? std::optional(CpuQuota()) : std::nullopt;
  const std::int64_t given = of_sandbox.quota().value();
  const std::uint64_t period = of_sandbox.period().value();
  if (*desired.cpu_quota <= 0 || has.quota_us || given <= 0 || period == 0) return std::nullopt;
  return CpuQuota{given, period};
}

std::string text_of(const CpuQuota& quota) {
  return quota.quota_us ? fmt::format("{} of {} us", *quota.quota_us, quota.period_us) : "none";
}

}  // namespace

void set_pod_quota(agent::NodeAgent& agent, const std::string& mount, const KnownPod& pod,
                   const agent::LogSink& log) {
  const auto desired = pod_resources(agent.node(), agent.state().node, pod.uid());
  const auto directory = pod_directory(mount, pod.sandbox.linux().cgroup_parent());
  if (!desired || !desired->cpu_quota || !directory) return;
  const auto group = agent.enforced()->reader(*directory);
  const auto has = group ? group->quota() : Result<CpuQuota>(fail(group.error()));
  if (!has) return;  // it has ended, or has no limit
  const auto change = find_change(*desired, *has, pod.sandbox.linux().pod_resources().cpu());
  if (!change) return;
  const auto written = agent::FollowedRuntime(agent).set_quota(*directory, *change);
  if (!log) return;
  if (written) {
    log(LogLevel::kInfo,
        fmt::format("NRI: '{}': the CFS quota of pod '{}' was {}, now {}", *directory,
                    pod.sandbox.uid(), text_of(*has), text_of(*change)));
  } else if (!enforce::is_gone(written.error())) {
    log(LogLevel::kWarning,
        fmt::format("NRI: '{}': the CFS quota of pod '{}' stays {}: {}", *directory,
                    pod.sandbox.uid(), text_of(*has), written.error().message));
  }
}

}  // namespace pinfold::nri
