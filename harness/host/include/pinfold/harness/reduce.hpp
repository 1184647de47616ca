#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "pinfold/harness/vm_machine.hpp"

/// Reduces what fails. `fails` says whether something smaller still fails in the same way; it is
/// called often, and may take long.
namespace pinfold::harness {

/// Returns the machines that are one change smaller, the smallest of each kind first: fewer
/// sockets, dies, cores, threads, caches or NUMA nodes, less memory, default distances, no devices,
/// no huge pages, nothing to plug. All of them pass check_machine.
[[nodiscard]] std::vector<VmMachine> smaller_machines(const VmMachine& machine);

/// Returns a machine that fails while none of its smaller_machines() does. Domain: `machine` fails.
[[nodiscard]] VmMachine smallest_machine(VmMachine machine,
                                         const std::function<bool(const VmMachine&)>& fails);

/// Returns steps that fail, and that no longer fail if any one of them is left out. Domain: `steps`
/// is a list that fails.
[[nodiscard]] nlohmann::json fewest_steps(nlohmann::json steps,
                                          const std::function<bool(const nlohmann::json&)>& fails);

/// Returns the first of `count` items that fails, provided that all later ones fail too and no
/// earlier one does; nullopt if the last one does not fail. Calls `fails` for about log2(count) of
/// them.
[[nodiscard]] std::optional<std::size_t> first_failing(
    std::size_t count, const std::function<bool(std::size_t)>& fails);

}  // namespace pinfold::harness
