#include "runtime_group.hpp"

#include <fmt/format.h>

#include "pinfold/types/named.hpp"

namespace pinfold::nri {
namespace {

using agent::LogLevel;

/// Returns the CPUs of a group; without a cpuset, those of its nearest parent that has one.
Result<CpuSet> cpus_of_group(const agent::EnforcedLayout& enforced, std::string directory) {
  for (;;) {
    PINFOLD_LET(const auto group, enforced.reader(directory));
    auto cpus = group.cpus();
    const auto above = directory.rfind('/');
    if (cpus || cpus.error().code != ErrorCode::kNotFound || above == 0 || above == directory.npos)
      return cpus;
    directory.resize(above);
  }
}

}  // namespace

void RuntimeGroup::look(const agent::NodeAgent& agent, std::optional<pid_t> runtime) {
  const CpuSet before = std::exchange(overlap_, {});
  if (!runtime) return;
  const auto directory = find_(*agent.enforced(), *runtime);
  const auto cpus = directory ? cpus_of_group(*agent.enforced(), *directory)
                              : Result<CpuSet>(fail(directory.error()));
  const std::string error = cpus ? "" : cpus.error().message;
  if (std::exchange(error_, error) != error && !cpus) {
    log(LogLevel::kInfo, "NRI: the runtime's own group is not known: " + error);
  }
  if (!cpus) return;
  overlap_ = *cpus & exclusive_cpus(agent.desired());
  if (overlap_.empty() || !before.empty()) return;
  log(LogLevel::kWarning,
      fmt::format(
          "NRI: '{}': the runtime, its shims and what else runs there can use exclusive {}: set "
          "AllowedCPUs= for its unit or slice",
          *directory, cpus_named(overlap_)));
}

}  // namespace pinfold::nri
