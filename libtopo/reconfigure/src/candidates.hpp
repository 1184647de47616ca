#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pinfold/machine/machine.hpp"
#include "pinfold/types/choices.hpp"
#include "pinfold/types/cpuset.hpp"

/// Enumerates sets of CPUs that a unit could get.
namespace pinfold::planning {

/// The CPUs to choose from.
struct CpuChoice {
  const Machine* machine = nullptr;
  CpuSet available;
  CpuSet own;  ///< CPUs that the unit had
  /// By CPU id: the number of the unit that would like to keep the CPU; -1 if there is none.
  std::vector<int> owner;
  /// By CPU id: CPUs with the same number belong to the same other units of the pod. 0, or an empty
  /// list, stands for no other unit.
  std::vector<int> sharing;
  std::size_t count = 0;  ///< the number of CPUs to choose; more than 0
};

using VisitCpus = std::function<Enumeration(const CpuSet&)>;

/// Visits a few good choices on one NUMA node, on all, and on two: some keep as many own CPUs as
/// possible, some take whole cores. They avoid CPUs of others where possible.
Enumeration for_each_good_choice(const CpuChoice& choice, const VisitCpus& visit);

/// Visits every choice, but only one of several that differ only in equal CPUs. CPUs of a core are
/// equal if they have the same owner and are shared with the same units; cores are equal if they
/// are in the same cache, socket and NUMA node and have equal CPUs available.
Enumeration for_each_choice_of_cpus(const CpuChoice& choice, const VisitCpus& visit);

/// Appends a text to `key`, which is the same for choices that differ only in equal CPUs.
void add_to_key(const CpuChoice& choice, std::string& key);

}  // namespace pinfold::planning
