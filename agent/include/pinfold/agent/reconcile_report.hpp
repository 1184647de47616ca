#pragma once

#include <string>
#include <vector>

#include "pinfold/enforce/plan.hpp"

namespace pinfold::agent {

/// The result of a reconciliation.
struct ReconcileReport {
  std::vector<std::string> drift;      ///< the differences found, as find_drift words them
  CpuSet overlap;                      ///< exclusive CPUs on which processes of others could run
  enforce::Plan done;                  ///< the steps that were applied
  std::vector<std::string> moved;      ///< processes and pages that were moved back
  std::vector<std::string> remaining;  ///< what still differs, and why
  std::vector<std::string> notes;      ///< as desired, but worth knowing: CPU affinities
  /// The part of `remaining` about containers whose CPUs differ because a group above theirs does
  /// not have them. Pinfold cannot fix that.
  std::vector<std::string> narrowed;
  /// Interrupts, queues, services and threads of the kernel that still use quiet CPUs, and why.
  std::vector<std::string> unquiet = {};
  /// Pods, and containers of other pods, that had ended without being removed, and were removed
  /// now. In no JSON document: they become events.
  std::vector<enforce::GroupName> removed = {};
};

}  // namespace pinfold::agent
