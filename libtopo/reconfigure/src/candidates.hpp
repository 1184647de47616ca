#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pinfold/machine/machine.hpp"
#include "pinfold/types/choices.hpp"
#include "pinfold/types/cpuset.hpp"

/// Sets of CPUs that a unit could get.
namespace pinfold::planning {

/// The CPUs to choose from.
struct CpuChoice {
  const Machine* machine = nullptr;
  CpuSet available;
  CpuSet own;  ///< CPUs that the unit had
  /// By CPU id: who would like to keep the CPU; -1: nobody.
  std::vector<int> owner;
  /// By CPU id: CPUs with the same number are of the same other units of the pod; 0, or none: of no
  /// other unit.
  std::vector<int> sharing;
  std::size_t count = 0;  ///< how many to choose; more than 0
};

using VisitCpus = std::function<Enumeration(const CpuSet&)>;

/// A few good choices on one NUMA node, on all and on two: some that keep as many of the own CPUs
/// as possible, some of whole cores. They leave those of others alone where possible.
Enumeration for_each_good_choice(const CpuChoice& choice, const VisitCpus& visit);

/// Every choice, but of choices that differ only in equal CPUs a single one. CPUs of a core are
/// equal if they have the same owner and are shared with the same units; cores are equal if they
/// are in the same cache, socket and NUMA node and have equal CPUs available.
Enumeration for_each_choice_of_cpus(const CpuChoice& choice, const VisitCpus& visit);

/// Appends a text that is the same for the same CPUs to choose from, up to equal CPUs.
void add_to_key(const CpuChoice& choice, std::string& key);

}  // namespace pinfold::planning
