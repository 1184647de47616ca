#pragma once

#include <string>

#include "pinfold/api/pod.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/rejection.hpp"

namespace pinfold {

/// Another source of topology hints beside CPUs, memory and devices: last-level cache ways, network
/// queues, a licence pool. The one thing to implement.
///
/// A provider is immutable. What it remembers of a node is a UTF-8 string that only it can read;
/// the caller keeps it in the node's state, hands it in and stores what comes back, so that
/// decisions stay pure (what-if costs nothing) and the memory survives a restart. An empty string
/// is a node without any assignment.
///
/// All calls may come from several threads at once; none may block or throw anything but bad_alloc.
class HintProvider {
 public:
  HintProvider() = default;
  HintProvider(const HintProvider&) = delete;
  HintProvider& operator=(const HintProvider&) = delete;
  virtual ~HintProvider() = default;

  /// Unique among the providers of a node; names the state and the source in explanations.
  [[nodiscard]] virtual std::string name() const = 0;

  /// Where the container's resources could come from: NUMA nodes by position. Called before
  /// allocate, with container scope. Lists go by number of nodes, then lexicographically.
  /// On machines of more than 16 nodes only the masks of for_each_hint_mask count.
  [[nodiscard]] virtual ResourceHints container_hints(const std::string& state, const PodSpec& pod,
                                                      const Container& container) const = 0;
  /// The same for a whole pod, with pod scope.
  [[nodiscard]] virtual ResourceHints pod_hints(const std::string& state,
                                                const PodSpec& pod) const = 0;

  /// Gives a container its share under the affinity that was found (no mask: anywhere), or says why
  /// not. A container that has its share already keeps it.
  [[nodiscard]] virtual Admission allocate(std::string& state, const PodSpec& pod,
                                           const Container& container,
                                           const TopologyHint& affinity) const = 0;
  /// Takes the share of a container back; unknown names are no error.
  virtual void release(std::string& state, const ContainerId& container) const = 0;
};

}  // namespace pinfold
