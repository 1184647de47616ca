#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/decide/decide.hpp"

/// Simulates pods that arrive at a node and leave it, without files and cgroups.
namespace pinfold::simulate {

/// A pod arrives, or the pod with this UID leaves. A rejected pod that leaves changes nothing.
using PodEvent = std::variant<PodSpec, PodUid>;

/// Returns one arrival per pod, in order.
/// Errors: kInvalidArgument if two pods have the same UID.
[[nodiscard]] Result<std::vector<PodEvent>> arrivals(const std::vector<PodSpec>& pods);

/// The resources of one container. Containers that end before the pod runs are left out.
struct PlacedContainer {
  std::string container;
  Isolation isolation = Isolation::kHost;
  CpuSet cpus;  ///< exclusive to the container or its pod; empty with isolation level host
  std::vector<MemoryBlock> memory;
  DeviceState::OfContainer devices = {};

  /// Compares CPUs and memory, whose placement depends on the configuration, unlike that of
  /// devices.
  friend bool operator==(const PlacedContainer& a, const PlacedContainer& b) {
    return a.container == b.container && a.isolation == b.isolation && a.cpus == b.cpus &&
           a.memory == b.memory;
  }
};
[[nodiscard]] std::vector<PlacedContainer> placements_of(const Node& node, const NodeState& state,
                                                         const ActivePod& pod);

/// One pod and its fate.
struct PodOutcome {
  PodRef pod;
  std::optional<Rejection> rejection;
  bool removed = false;
  std::vector<PlacedContainer> placements;  ///< since its admission; empty for a rejected pod
  std::vector<std::string> notes = {};      ///< known bugs of the kubelet that matter:
                                            ///< acting_quirks

  friend bool operator==(const PodOutcome&, const PodOutcome&) = default;
};

/// The result of the events on a node.
struct Simulation {
  std::vector<PodOutcome> pods;  ///< in the order of their arrival
  NodeState last;                ///< after the last event
  std::size_t events = 0;        ///< number of events that happened; fewer after a stop
  /// The number of exclusive CPUs, summed over all events, and its maximum.
  std::uint64_t exclusive_sum = 0;
  std::size_t exclusive_peak = 0;
};

/// Returns the CPUs that are exclusive to containers or pods.
[[nodiscard]] CpuSet exclusive_cpus(const NodeState& state);

/// Returns the current node, with every active pod as admitted.
[[nodiscard]] Simulation as_it_is(const Node& node, NodeState state);

/// Called before each event with the number of past events; returns false to stop.
using Progress = std::function<bool(std::size_t happened)>;
/// Admits each arriving pod as an agent does, and starts its containers. Deterministic.
/// Errors: kBusy with the container's name if its devices are gone when it starts.
[[nodiscard]] Result<Simulation> simulate_pods(const Node& node,
                                               const std::vector<PodEvent>& events,
                                               const Progress& progress = nullptr);

/// How a second node treats a pod, compared with the first one.
enum class PodChange {
  kSame,      ///< the same placements, or rejected by both
  kMoves,     ///< admitted by both, with other CPUs or NUMA nodes
  kRejected,  ///< only the second one rejects it
  kAdmitted,  ///< only the first one rejects it
};
[[nodiscard]] std::string_view to_string(PodChange change);
[[nodiscard]] std::span<const PodChange> enumerators(PodChange type);
[[nodiscard]] PodChange change_between(const PodOutcome& first, const PodOutcome& second);

}  // namespace pinfold::simulate
