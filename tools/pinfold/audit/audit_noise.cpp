#include "audit/audit_noise.hpp"

#include <fmt/format.h>

#include <map>

#include "node/noise_scope.hpp"

namespace pinfold::tools {

noise::NoiseScope audited_scope(const audit::Report& report, const audit::Observed& observed) {
  std::map<std::string, std::string> directories;  // by the runtime's id
  for (const audit::ObservedGroup& group : observed.cgroups.groups) {
    if (!group.name.container.empty()) directories[group.name.container] = group.directory;
  }
  noise::NoiseScope scope;
  scope.cpus = report.exclusive;
  for (const audit::AuditedContainer& container : report.containers) {
    const auto directory = directories.find(container.runtime_id);
    if (!container.is_exclusive || directory == directories.end()) continue;
    for (const CpuId cpu : container.expected.value_or(CpuSet())) {
      scope.owners[cpu] = directory->second;
    }
  }
  if (observed.machine) scope.housekeeping = observed.machine->all_cpus() - scope.cpus;
  return scope;
}

std::string noise_lines(const noise::NoiseReport& report) {
  std::string lines;
  for (const noise::CpuNoise& noise : report.cpus) {
    lines += fmt::format("  CPU {}  {}\n", noise.cpu.value, summary_of(noise));
  }
  return lines;
}

}  // namespace pinfold::tools
