#pragma once

#include <span>
#include <string>
#include <vector>

#include "pinfold/nri/messages.hpp"
#include "pinfold/nri_pods/premises.hpp"
#include "pinfold/nri_pods/recovered_pod.hpp"

/// Turns NRI's messages about a pod into the PodSpec to admit. Pure. docs/nri.md says what can be
/// recovered.
namespace pinfold::nri {

/// Recovers a pod from what NRI shows of it and of its containers (in order of creation, one per
/// name, without those that have ended for good).
/// Errors: kInvalidArgument for a name or UID that Kubernetes would not accept. (A wrong annotation
/// is RecoveredPod::refused_annotation.)
[[nodiscard]] Result<RecoveredPod> recover(const api::PodSandbox& sandbox,
                                           std::span<const api::Container> containers,
                                           const Premises& premises);

/// The pods to admit for one pod of the runtime.
struct Demand {
  /// As recovered if all amounts that count are exact; otherwise without limits, so that nothing is
  /// exclusive.
  PodSpec pod;
  /// Its unannounced containers, each as a BestEffort pod.
  std::vector<PodSpec> unannounced;
  /// Containers that get exclusive CPUs if the pod is admitted and the CPU manager is static.
  std::vector<std::string> exclusive;
  std::string why_shared;  ///< empty if a container is in `exclusive`

  friend bool operator==(const Demand&, const Demand&) = default;
};
[[nodiscard]] Demand demand(const RecoveredPod& pod, const Premises& premises);

}  // namespace pinfold::nri
