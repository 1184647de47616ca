#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/durations.hpp"
#include "pinfold/agent/node_agent.hpp"

/// What readers see of a node agent that a worker owns.
namespace pinfold::service {

using agent::Durations;

/// What a worker has counted since it was made.
struct WorkCounters {
  std::uint64_t requests = 0;         ///< that had their turn
  std::uint64_t expired = 0;          ///< of these, whose deadline had passed
  std::uint64_t busy = 0;             ///< that the full queue did not take
  std::uint64_t admit_rounds = 0;     ///< transactions with admissions
  std::uint64_t reconciliations = 0;  ///< that were due, not those that were requested
  std::uint64_t drifts = 0;           ///< of these, that found drift
  std::uint64_t repaired = 0;         ///< of these, after which nothing remained
  std::uint64_t overlaps = 0;         ///< of the drifts, with processes of others on exclusive CPUs
  Durations admissions;               ///< of the transactions: decided, committed and applied
  Durations reconciling;              ///< of the reconciliations

  friend bool operator==(const WorkCounters&, const WorkCounters&) = default;
};

/// A running container that has other CPUs or memory nodes than Pinfold would give it.
struct Difference {
  ContainerId container;
  std::string namespace_name;  ///< of the pod
  std::string pod_name;
  CpuSet observed_cpus;
  CpuSet desired_cpus;  ///< empty: any
  enforce::NodeSet observed_mems;
  enforce::NodeSet desired_mems;  ///< empty: any
  std::string why_shared = {};    ///< why it would have no exclusive CPUs; "": it would have some

  friend bool operator==(const Difference&, const Difference&) = default;
};

/// What a runtime's containers have, against what Pinfold would give them.
struct Comparison {
  std::uint64_t compared = 0;  ///< running containers
  std::vector<Difference> differences;

  friend bool operator==(const Comparison&, const Comparison&) = default;
};

/// A node agent after a round of its worker. Without what the kernel has: that costs system calls
/// for every container, so it is read when it is asked for.
struct Snapshot {
  std::uint64_t round = 0;  ///< ascending
  agent::AgentState state;
  agent::Metrics metrics;
  agent::Timings timings;
  WorkCounters counters;
  /// The last reconciliation: its report, or why there is none. nullopt before the first one.
  std::optional<Result<agent::ReconcileReport>> reconciled;
  /// Why the kubelet's files are older than the state. nullopt: they are not.
  std::optional<Error> not_settled;
  /// Mode observe: the last comparison. Null before the first one, and in any other mode.
  std::shared_ptr<const Comparison> comparison;
};

enum class ChangeKind {
  kAdmitted,
  kRejected,
  kStarted,
  kRemoved,
  kReleased,
  kReconciled,
  kAdopted,
  kFoundUnpinned,  ///< a container ran without being known or without its cpuset
  kMoved           ///< a container has other CPUs or memory nodes than before
};

/// Something that happened to a node.
struct Change {
  ChangeKind kind = ChangeKind::kAdmitted;
  /// "" for kReleased and kReconciled, and for kFoundUnpinned until the runtime has shown the pod.
  PodUid pod;
  std::string container;  ///< "": the pod, with all its containers

  friend bool operator==(const Change&, const Change&) = default;
};

/// What was counted of a runtime's containers since the service started.
struct FollowerCounters {
  std::uint64_t found_unpinned = 0;   ///< containers that ran unknown or without their cpuset
  double unpinned_seconds = 0;        ///< that these ran so, at most
  std::uint64_t stopped = 0;          ///< containers that could not be confined
  std::uint64_t start_refusals = 0;   ///< containers that did not start
  std::uint64_t create_refusals = 0;  ///< containers that were not created
  std::uint64_t reverted = 0;         ///< cpusets that another one had changed
  std::uint64_t differences = 0;      ///< mode observe: containers that have another cpuset now
};

/// The same with what was counted of the connection.
struct RuntimeCounters : FollowerCounters {
  bool is_connected = false;
  bool is_healthy = true;  ///< connected, or not for long disconnected; and no static kubelet
  bool kubelet_is_static = false;     ///< mode enforce: its own CPU manager decides too
  std::uint64_t runtime_overlap = 0;  ///< exclusive CPUs that the runtime's own group can use
  std::uint64_t connections = 0;      ///< that got as far as a synchronization
  Durations answers;                  ///< of the runtime's requests: from arrival to answer
};

/// Receives changes until it is destroyed. Thread-safe.
class Subscription {
 public:
  /// Keeps at most `limit` changes that were not taken. `notify`: called by the worker after every
  /// round with changes; must neither block nor throw.
  Subscription(std::size_t limit, std::function<void()> notify)
      : limit_(limit), notify_(std::move(notify)) {}

  struct Taken {
    std::vector<Change> changes;
    bool has_lagged = false;  ///< changes are missing: read the snapshot again
  };
  /// The changes since the last call, oldest first. With has_lagged there are none: the snapshot
  /// has them all.
  [[nodiscard]] Taken take();

  /// For the worker.
  void add(const std::vector<Change>& changes);

 private:
  std::size_t limit_;
  std::function<void()> notify_;
  std::mutex mutex_;
  std::deque<Change> changes_;
  bool has_lagged_ = false;
};

}  // namespace pinfold::service
