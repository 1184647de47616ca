#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/log.hpp"
#include "pinfold/api/config.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/memory/memory_manager.hpp"

namespace pinfold::agent {

/// The machine that a node starts with.
struct KnownMachine {
  Machine machine;
  CpuSet offline;  ///< CPUs of `machine` that are missing now
  /// The current machine, if only a reconfiguration can adapt the state to it.
  std::optional<Machine> observed = std::nullopt;
  bool is_stored = false;  ///< .pinfold_node describes it, this configuration and no earlier node
};

/// Returns the machine of the state if `observed` is the same machine with some CPUs missing, so
/// that a CPU that goes offline does not make the state unreadable; otherwise `observed`. It is the
/// same machine if every CPU of `observed` is on the same socket and NUMA node, and the NUMA nodes
/// are the same. A state directory without a state, or with an unreadable .pinfold_node, has no
/// machine. DIFFERENCE: a kubelet does not start on such a node.
[[nodiscard]] KnownMachine known_machine(Machine observed, checkpoint::Store& store,
                                         const LogSink& log);
/// Does the same, given `known`, the machine of the state.
[[nodiscard]] KnownMachine known_machine(Machine observed, Machine known);

/// Chooses the machine that an agent starts with:
///   1. the machine of the state in `store` if CPUs are missing (see known_machine) and the profile
///      of `config` permits that;
///   2. else `observed`, if a node starts on it from the state (with the memory manager policy
///      None, its memory may have any size);
///   3. else the machine of the state, if `observed` differs only in harmless ways: sizes of memory
///      and huge pages, new NUMA nodes and, if the profile permits offline CPUs, CPUs that are new;
///   4. else `observed`, on which the start then fails.
/// DIFFERENCE: a kubelet does not start in case 1 or 3.
[[nodiscard]] KnownMachine machine_to_start_with(Machine observed, const Config& config,
                                                 checkpoint::Store& store, const LogSink& log);

/// Returns the configuration with the size of the machine's kernel if an option depends on it:
/// memory-drift-tolerance. See AgentOptions::iomem.
[[nodiscard]] Config with_kernel_image(Config config, const std::string& iomem, const LogSink& log);

/// Calls Node::make. An error names the stage of the start that failed, and what would help.
[[nodiscard]] Result<Node> make_node(const Machine& machine, const Config& config,
                                     Node::Providers providers = {});

/// Whether the sizes of memory and huge pages are part of a node.
enum class MemorySizes { kCount, kIgnored };
/// Returns kCount with the memory manager policy Static, else kIgnored.
[[nodiscard]] MemorySizes memory_sizes_of(const Config& config);
/// Returns whether a state for one machine is also valid for the other.
[[nodiscard]] bool is_same_machine(const Machine& a, const Machine& b, MemorySizes sizes);
/// Describes each difference: "NUMA node 1: hugepages-2Mi of 0 becomes 16Mi", "CPUs 8-9 are new".
/// Omits the `offline` CPUs, which are reported elsewhere.
[[nodiscard]] std::vector<std::string> machine_differences(const Machine& before,
                                                           const Machine& after, MemorySizes sizes,
                                                           const CpuSet& offline = {});

/// Returns one sentence per NUMA node and kind of memory that `after` allocates more of than
/// `before`, although the machine no longer has enough.
[[nodiscard]] std::vector<std::string> memory_that_is_gone(const MemoryState& before,
                                                           const MemoryState& after,
                                                           const Machine& observed);

}  // namespace pinfold::agent
