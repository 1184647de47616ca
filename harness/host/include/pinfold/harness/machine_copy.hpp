#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/source_traits.hpp"
#include "pinfold/harness/vm_machine.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::harness {

/// Something that a copy cannot have as its source has it.
struct CopyDifference {
  std::string field;   ///< "cpus", "offline", "sockets", "caches", "nodes", "memory", ...
  std::string source;  ///< "256 CPUs"
  std::string copy;    ///< what the copy has instead

  friend bool operator==(const CopyDifference&, const CopyDifference&) = default;
};

/// A machine of a scenario that is like another machine, as near as QEMU can come.
/// CPUs of the copy that share a core, a cache, a socket or a NUMA node do so in the source.
struct MachineCopy {
  VmMachine machine;
  /// CPUs that the source does not have: uneven groups are filled up. Once a step takes them
  /// offline, every group has the CPUs of the source.
  CpuSet offline;
  std::vector<std::optional<CpuId>> cpus;  ///< of the source, by CPU of the copy
  std::vector<NumaId> nodes;               ///< of the source, by NUMA node of the copy
  std::vector<CopyDifference> differences;
};

/// Copies a machine. Its memory is scaled down to `memory` bytes in all (nullopt: 4 GiB, or what
/// its NUMA nodes need at least) if it has more. Whatever the source has and the copy has not is
/// among the differences. Errors: kInvalidArgument if `memory` is too little for its NUMA nodes.
[[nodiscard]] Result<MachineCopy> copy_machine(const Machine& source, const SourceTraits& traits,
                                               std::optional<std::uint64_t> memory);

/// The `machine` of a scenario in YAML, with the differences from the source as comments.
[[nodiscard]] std::string copy_yaml(const MachineCopy& copy, const std::string& source);
/// The same for programs: {"machine", "offline", "cpus", "nodes", "differences"}.
[[nodiscard]] nlohmann::json copy_json(const MachineCopy& copy, const std::string& source);

}  // namespace pinfold::harness
