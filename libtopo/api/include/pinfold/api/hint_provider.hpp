#pragma once

#include <string>

#include "pinfold/api/pod.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/rejection.hpp"

namespace pinfold {

/// A source of topology hints besides CPUs, memory and devices: last-level cache ways, network
/// queues, a license pool.
///
/// A provider is immutable. Its state of a node is a UTF-8 string that only the provider
/// interprets; the caller passes it in and keeps the result with the node's state. So decisions
/// stay pure, and the string survives a restart. An empty string means a node without assignments.
///
/// Calls may come from several threads at once, and none may block. An exception of a provider
/// passes through the decision; the state that it was about stays with the caller as it was.
class HintProvider {
 public:
  HintProvider() = default;
  HintProvider(const HintProvider&) = delete;
  HintProvider& operator=(const HintProvider&) = delete;
  virtual ~HintProvider() = default;

  /// Unique among the providers of a node; the key of its state and the source in explanations.
  [[nodiscard]] virtual std::string name() const = 0;

  /// Hints for a container: NUMA nodes by position. Called before allocate, in container scope.
  /// Lists are ordered by number of NUMA nodes, then lexicographically. On machines with more than
  /// 16 NUMA nodes other masks than those of for_each_hint_mask are ignored.
  [[nodiscard]] virtual ResourceHints container_hints(const std::string& state, const PodSpec& pod,
                                                      const Container& container) const = 0;
  /// Hints for a whole pod, in pod scope.
  [[nodiscard]] virtual ResourceHints pod_hints(const std::string& state,
                                                const PodSpec& pod) const = 0;

  /// Allocates a container's resources under the affinity that the merge chose (no mask: anywhere),
  /// or rejects. A container that has its resources already keeps them.
  [[nodiscard]] virtual Admission allocate(std::string& state, const PodSpec& pod,
                                           const Container& container,
                                           const TopologyHint& affinity) const = 0;
  /// Releases a container's resources; unknown names are no error.
  virtual void release(std::string& state, const ContainerId& container) const = 0;
};

}  // namespace pinfold
