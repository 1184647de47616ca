#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/log.hpp"
#include "pinfold/api/config.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/memory/memory_manager.hpp"

namespace pinfold::agent {

/// What a node is made of when it starts.
struct KnownMachine {
  Machine machine;
  CpuSet offline;  ///< its CPUs that are missing
  /// The machine as it is, if the state follows it only after a reconfiguration.
  std::optional<Machine> observed = std::nullopt;
};

/// The machine that the state is for, if CPUs of it are missing in `observed`, and it is the same
/// otherwise: then a CPU that goes offline does not make the state unreadable. The same machine:
/// every CPU of `observed` is on the same socket and NUMA node, and the NUMA nodes are the same. A
/// state directory without a state, or with a .pinfold_node that cannot be read, knows no machine.
/// DEVIATION: a kubelet does not start on such a node.
[[nodiscard]] KnownMachine known_machine(Machine observed, checkpoint::Store& store,
                                         const LogSink& log);
/// The same for the machine that a state is for.
[[nodiscard]] KnownMachine known_machine(Machine observed, Machine known);

/// The machine that an agent goes on with: the one of the state (`files`) while CPUs are missing,
/// as above, if the profile of `config` starts then. Else the observed one, if the state fits it:
/// with the memory manager policy None its memory may have any size. Else the one of the state
/// again, if that differs only in what harms nobody: other sizes of memory and huge pages, NUMA
/// nodes that are new, and, if the profile allows CPUs to be offline, CPUs that are new. DEVIATION:
/// a kubelet does not start on such a node either.
[[nodiscard]] KnownMachine machine_to_start_with(Machine observed, const Config& config,
                                                 checkpoint::Store& store, const LogSink& log);

/// Whether the sizes of memory and huge pages are part of a node.
enum class MemorySizes { kCount, kIgnored };
/// kIgnored with the memory manager policy None.
[[nodiscard]] MemorySizes memory_sizes_of(const Config& config);
/// Whether a state for one machine is one for the other.
[[nodiscard]] bool is_same_machine(const Machine& a, const Machine& b, MemorySizes sizes);
/// "NUMA node 1: hugepages-2Mi of 0 becomes 16Mi", "CPUs 8-9 are new". Without those that are
/// `offline`: they have a word of their own.
[[nodiscard]] std::vector<std::string> machine_differences(const Machine& before,
                                                           const Machine& after, MemorySizes sizes,
                                                           const CpuSet& offline = {});

/// What `after` allocates beyond `before` of memory that the machine no longer has: one sentence
/// for each kind of memory of a NUMA node.
[[nodiscard]] std::vector<std::string> memory_that_is_gone(const MemoryState& before,
                                                           const MemoryState& after,
                                                           const Machine& observed);

}  // namespace pinfold::agent
