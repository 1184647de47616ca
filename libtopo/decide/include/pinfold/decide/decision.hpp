#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "pinfold/api/amounts.hpp"
#include "pinfold/decide/node_state.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/rejection.hpp"

namespace pinfold {

/// The hints of all providers that were merged, by "pod" (pod scope) or container name.
using HintsByObject = std::map<std::string, ResourceHints>;

/// For explanations: what each object ("pod" or a container's name) needed, and what was free, held
/// and reserved when its devices, CPUs and memory were chosen. Only with a trace.
using AmountsByObject = std::map<std::string, std::vector<Amounts>>;

struct Admitted {
  NodeState next;
  HintsByObject hints;
  AmountsByObject amounts;
};

/// The step of an admission that failed.
struct AdmissionStep {
  /// As in a TraceFact: "devices", "cpu", "memory", "topology" or the name of a HintProvider; also
  /// "requests" for find_shortage().
  std::string source;
  std::string object;  ///< "pod" or the container's name

  friend bool operator==(const AdmissionStep&, const AdmissionStep&) = default;
};

/// A result, not an error. With the quirk rejected_pod_keeps_resources, `next` differs from the
/// previous state: stale assignments are released, and the pod keeps what it got before the step
/// that failed.
struct Rejected {
  Rejection why;
  NodeState next;
  HintsByObject hints;
  AmountsByObject amounts;
  AdmissionStep step;
};

using Decision = std::variant<Admitted, Rejected>;

}  // namespace pinfold
