#pragma once

#include "pinfold/agent/process_list.hpp"
#include "pinfold/agent/reconcile_report.hpp"
#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/enforce/layout.hpp"

/// Processes and pages that are not where they belong.
namespace pinfold::agent {

/// Moves live processes of `before` that left their container's group back to it. Returns the
/// current process list.
[[nodiscard]] ProcessList return_processes(enforce::Cgroups& cgroups,
                                           const enforce::Layout& desired,
                                           const ProcessList& before, ReconcileReport& report);

/// Notes the containers whose main process cannot use all their CPUs.
void note_affinities(const enforce::Cgroups& cgroups, const enforce::Layout& desired,
                     ReconcileReport& report);

/// Moves pages of the containers' processes to the desired NUMA nodes.
void move_pages(enforce::Cgroups& cgroups, const enforce::Layout& desired, ReconcileReport& report);

}  // namespace pinfold::agent
