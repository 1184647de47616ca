#pragma once

#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

/// The CPUs of systemd's units, as `systemctl set-property --runtime UNIT AllowedCPUs=` sets them.
namespace pinfold::quiet {

/// Returns those of init.scope, system.slice and user.slice that exist. Empty without systemd, or
/// with cgroup v1, where systemd has no such setting. `root`: "" for the real files.
[[nodiscard]] std::vector<std::string> system_units(const std::string& root);

/// Returns cpuset.cpus of a unit; "" if none are set for it.
[[nodiscard]] std::string read_unit_cpus(const std::string& root, const std::string& unit);

/// Sets the CPUs of a unit until the next boot; empty: any.
/// Errors: kUnsupported if systemd does not answer or refuses; kNotFound without a bus; kIo.
[[nodiscard]] Result<void> write_unit_cpus(const std::string& root, const std::string& unit,
                                           const CpuSet& cpus);

}  // namespace pinfold::quiet
