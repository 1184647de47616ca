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

/// Returns cpuset.cpus of a unit; "" if none are set for it, or every CPU that the machine can
/// have, which is how a set is cleared before Linux 7.
[[nodiscard]] std::string read_unit_cpus(const std::string& root, const std::string& unit);

/// Sets the CPUs of a unit until the next boot; empty: any.
/// Errors: kUnsupported if systemd refuses, with EAGAIN if it does not answer; kNotFound without a
/// bus; kIo.
[[nodiscard]] Result<void> write_unit_cpus(const std::string& root, const std::string& unit,
                                           const CpuSet& cpus);

/// Sets the CPUs of a unit, and which kind of partition it is, until the next boot; systemd writes
/// both after it has answered. Domain: `cpus` is not empty; `partition`: "member" or "isolated".
/// Errors: as above; kUnsupported also before systemd 261, which then changes nothing.
[[nodiscard]] Result<void> write_unit_partition(const std::string& root, const std::string& unit,
                                                const CpuSet& cpus, const std::string& partition);

}  // namespace pinfold::quiet
