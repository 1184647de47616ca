#include "enforcer_part.hpp"

#include <fmt/format.h>

#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/observed_cgroups.hpp"

namespace pinfold::nri {

std::vector<pid_t> processes_of(const agent::NodeAgent& agent, const std::string& directory) {
  const auto group = agent.enforced()->reader(directory);
  const auto found = group ? group->processes() : Result<std::vector<pid_t>>();
  return found.value_or(std::vector<pid_t>());
}

bool runs_in(const agent::NodeAgent& agent, const std::string& directory) {
  const auto group = agent.enforced()->reader(directory);
  if (!group) return !enforce::is_gone(group.error());
  const auto found = group->processes();
  return found ? !found->empty() : !enforce::is_gone(found.error());
}

bool has_exclusive_cpus(const agent::Desired& desired, const ContainerId& id) {
  const auto found = desired.layout.find(id);
  return found != desired.layout.end() && found->second.isolation != Isolation::kHost;
}

CpuSet desired_cpus(const agent::Desired& desired, const ContainerId& id) {
  const auto found = desired.layout.find(id);
  return found == desired.layout.end() ? CpuSet() : found->second.cpus;
}

std::string title_of(const ContainerId& id) {
  return fmt::format("container '{}' of pod '{}'", id.name, id.pod);
}

}  // namespace pinfold::nri
