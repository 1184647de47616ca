#include "pinfold/audit/running.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "expectations.hpp"

namespace pinfold::audit {
namespace {

std::optional<std::int64_t> limit_of(const enforce::CpuQuota& quota) {
  constexpr std::int64_t kMilli = 1000;
  const auto period = static_cast<std::int64_t>(quota.period_us);
  if (!quota.quota_us || *quota.quota_us > INT64_MAX / kMilli || period <= 0) return std::nullopt;
  return *quota.quota_us * kMilli / period;
}

checkpoint::RunningContainer running_container(const Observed& observed, const Placed& placed) {
  const ObservedGroup& group = *placed.group;
  const auto directories = observed.pod_directories.find(group.name.pod);
  return {.id = placed.audited.id,
          .group = observed.root + group.directory,
          .is_known = directories != observed.pod_directories.end() && !directories->second.empty(),
          .qos = group.name.qos,
          .cpus = group.cpus,
          .mems = group.mems,
          .limit_milli_cpu = limit_of(group.limit.quota)};
}

}  // namespace

std::vector<checkpoint::RunningContainer> running_containers(const Observed& observed) {
  const Case made = make_case(observed);
  std::vector<checkpoint::RunningContainer> running;
  for (const Placed& placed : made.containers) {
    if (placed.group == nullptr || !placed.audited.is_running || placed.audited.is_sandbox)
      continue;
    running.push_back(running_container(observed, placed));
  }
  return running;
}

}  // namespace pinfold::audit
