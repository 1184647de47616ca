#pragma once

#include <cstdint>
#include <optional>

#include "pinfold/gate/container.hpp"
#include "pinfold/gate/decision.hpp"
#include "pinfold/gate/kernel_text.hpp"
#include "pinfold/gate/options.hpp"

/// What the gate reads from the kernel and from the state directory.
namespace pinfold::gate {

/// Returns the groups of a process, in memory that the next call overwrites; nullopt if the process
/// has ended.
[[nodiscard]] std::optional<ProcessGroups> groups_of(std::int64_t pid);

/// Observes a container in the kernel.
[[nodiscard]] ShownCpus observe(const Options& options, const HookedContainer& container,
                                const ProcessGroups& groups);

/// Writes the CPUs of a group. Returns whether the kernel accepted them.
[[nodiscard]] bool write_cpus(const Options& options, const GroupPath& group, const CpuBits& cpus);

/// Prints the directory of a group into `buffer`; empty if it has no room.
[[nodiscard]] std::string_view directory_of(const Options& options, const GroupPath& group,
                                            std::span<char> buffer);

/// Reads the snapshot of the state directory. Returns nullopt if it cannot be read, or another user
/// can have written it.
[[nodiscard]] std::optional<DecidedCpus> decision_of(const Options& options,
                                                     const StateName& owner);

}  // namespace pinfold::gate
