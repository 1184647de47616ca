#pragma once

#include <string>

#include "pinfold/api/pod.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/rejection.hpp"

namespace pinfold {

/// A source of topology hints other than CPUs, memory and devices: last-level cache ways, network
/// queues, a license pool.
///
/// A provider is immutable. Its state on a node is a UTF-8 string that only the provider
/// interprets; the caller passes it in and stores the result with the node's state. So decisions
/// stay pure, and the string survives a restart. An empty string means a node without assignments.
///
/// Calls may come from several threads at once and must not block. An exception from a provider
/// passes through the decision and leaves the caller's state unchanged.
class HintProvider {
 public:
  HintProvider() = default;
  HintProvider(const HintProvider&) = delete;
  HintProvider& operator=(const HintProvider&) = delete;
  virtual ~HintProvider() = default;

  /// Returns a name unique among the providers of a node: the key of its state and the source in
  /// explanations.
  [[nodiscard]] virtual std::string name() const = 0;

  /// Returns the hints for a container, with NUMA nodes by position. Called before allocate, in
  /// container scope. Lists are ordered by number of NUMA nodes, then lexicographically. On
  /// machines with more than 16 NUMA nodes, masks other than those of for_each_hint_mask are
  /// ignored.
  [[nodiscard]] virtual ResourceHints container_hints(const std::string& state, const PodSpec& pod,
                                                      const Container& container) const = 0;
  /// Returns the hints for a whole pod, in pod scope.
  [[nodiscard]] virtual ResourceHints pod_hints(const std::string& state,
                                                const PodSpec& pod) const = 0;

  /// Allocates a container's resources under the affinity of the merge (no mask: anywhere), or
  /// rejects. A container that already has its resources keeps them.
  [[nodiscard]] virtual Admission allocate(std::string& state, const PodSpec& pod,
                                           const Container& container,
                                           const TopologyHint& affinity) const = 0;
  /// Releases a container's resources; ignores unknown names.
  virtual void release(std::string& state, const ContainerId& container) const = 0;
};

}  // namespace pinfold
