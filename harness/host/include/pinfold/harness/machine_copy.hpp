#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/harness/vm_machine.hpp"
#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/ids.hpp"

namespace pinfold::harness {

/// A property of the source that a copy cannot have.
struct CopyDifference {
  std::string field;   ///< "cpus", "offline", "sockets", "caches", "nodes", "memory", ...
  std::string source;  ///< "256 CPUs"
  std::string copy;    ///< what the copy has instead

  friend bool operator==(const CopyDifference&, const CopyDifference&) = default;
};

/// A machine of a scenario that is as similar to another machine as QEMU allows. CPUs of the copy
/// that share a core, a cache, a socket or a NUMA node share it in the source as well.
struct MachineCopy {
  VmMachine machine;
  /// CPUs that fill up uneven groups and that the source does not have. After a step takes them
  /// offline, every group has the CPUs of the source.
  CpuSet offline;
  std::vector<std::optional<CpuId>> cpus;  ///< CPU of the source for each CPU of the copy
  std::vector<NumaId> nodes;               ///< NUMA node of the source for each one of the copy
  std::vector<CopyDifference> differences;
};

/// Returns the `machine` of a scenario as JSON, with everything but its platform.
[[nodiscard]] nlohmann::json machine_json(const VmMachine& machine);

/// Returns the `machine` of a scenario in YAML, with the differences from the source as comments.
[[nodiscard]] std::string copy_yaml(const MachineCopy& copy, const std::string& source);
/// Returns the same as JSON: {"machine", "offline", "cpus", "nodes", "differences"}.
[[nodiscard]] nlohmann::json copy_json(const MachineCopy& copy, const std::string& source);

}  // namespace pinfold::harness
