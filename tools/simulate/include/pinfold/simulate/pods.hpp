#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/decide/decide.hpp"

/// Pods that arrive at a node and go again, without files and cgroups.
namespace pinfold::simulate {

/// A pod arrives, or the pod with this UID goes. That a rejected pod goes changes nothing.
using Event = std::variant<PodSpec, PodUid>;

/// The pods in order, each arrives once.
/// Errors: kInvalidArgument if two pods have the same UID.
[[nodiscard]] Result<std::vector<Event>> arrivals(const std::vector<PodSpec>& pods);

/// What one container gets. Containers that end before the pod runs are left out.
struct Placement {
  std::string container;
  Isolation isolation = Isolation::kHost;
  CpuSet cpus;  ///< of the container, or of its pod; none with isolation level host
  std::vector<MemoryBlock> memory;

  friend bool operator==(const Placement&, const Placement&) = default;
};
[[nodiscard]] std::vector<Placement> placements_of(const Node& node, const NodeState& state,
                                                   const ActivePod& pod);

/// One pod and what became of it.
struct PodOutcome {
  PodUid uid;
  std::string name;  ///< "default/web"
  std::optional<Rejection> rejection;
  bool removed = false;
  std::vector<Placement> placements;  ///< from its admission on; none of a rejected pod

  friend bool operator==(const PodOutcome&, const PodOutcome&) = default;
};

/// What a node did with the events.
struct Simulation {
  std::vector<PodOutcome> pods;  ///< in the order of their arrival
  NodeState last;                ///< after the last event
  std::size_t events = 0;        ///< that happened; fewer than there are after a stop
  /// Exclusive CPUs after each event, summed, and the most at one time.
  std::uint64_t exclusive_sum = 0;
  std::size_t exclusive_peak = 0;
};

/// The CPUs that are exclusive to containers or pods.
[[nodiscard]] CpuSet exclusive_cpus(const NodeState& state);

/// A node as it is: every active pod is admitted.
[[nodiscard]] Simulation as_it_is(const Node& node, NodeState state);

/// Called before each event with the number of those that happened; false: no more events.
using Progress = std::function<bool(std::size_t happened)>;
/// Admits each pod that arrives as an agent does, and starts its containers. Deterministic.
/// Errors: kBusy with the container's name if its devices are gone when it starts.
[[nodiscard]] Result<Simulation> simulate_pods(const Node& node, const std::vector<Event>& events,
                                               const Progress& progress = nullptr);

/// What another node would do with a pod.
enum class Change {
  kSame,      ///< the same placements, or rejected by both
  kMoves,     ///< admitted by both, with other CPUs or NUMA nodes
  kRejected,  ///< only the second one rejects it
  kAdmitted,  ///< only the first one rejects it
};
[[nodiscard]] std::string_view to_string(Change change);
[[nodiscard]] Change change_between(const PodOutcome& first, const PodOutcome& second);

}  // namespace pinfold::simulate
