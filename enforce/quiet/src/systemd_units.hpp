#pragma once

#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

/// The CPUs of systemd's units, as `systemctl set-property --runtime UNIT AllowedCPUs=` sets them.
namespace pinfold::quiet {

/// Returns the slices and scopes directly below the root of cgroup v2; empty without systemd or
/// with cgroup v1, where systemd has no such setting. `root`: "" for the real files.
[[nodiscard]] std::vector<std::string> top_units(const std::string& root);

/// Returns cpuset.cpus of a unit; "" if it has no CPUs of its own.
[[nodiscard]] std::string read_unit_cpus(const std::string& root, const std::string& unit);

/// Sets the CPUs of a unit until the next boot; empty: any.
/// Errors: kUnsupported if systemd does not answer or refuses; kNotFound without a bus; kIo.
[[nodiscard]] Result<void> write_unit_cpus(const std::string& root, const std::string& unit,
                                           const CpuSet& cpus);

}  // namespace pinfold::quiet
