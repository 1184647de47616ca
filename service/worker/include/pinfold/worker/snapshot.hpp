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
#include "pinfold/agent/metrics.hpp"
#include "pinfold/agent/node_agent.hpp"
#include "pinfold/quiet/quiet_knobs.hpp"
#include "pinfold/verbs/comparison.hpp"
#include "pinfold/verbs/event.hpp"

/// The view that readers have of a node agent while a worker owns it.
namespace pinfold::worker {

/// Counters since the worker was made.
struct WorkCounters {
  std::uint64_t requests = 0;         ///< handled requests
  std::uint64_t expired = 0;          ///< those among them whose deadline had passed
  std::uint64_t busy = 0;             ///< requests rejected because the queue was full
  std::uint64_t admit_rounds = 0;     ///< transactions with admissions
  std::uint64_t reconciliations = 0;  ///< scheduled reconciliations, without requested ones
  std::uint64_t drifts = 0;           ///< those among them that found drift
  std::uint64_t repaired = 0;         ///< those among them that left no drift
  std::uint64_t overlaps = 0;    ///< those among them that found other processes on exclusive CPUs
  agent::Durations admissions;   ///< duration of these transactions: decide, commit and apply
  agent::Durations reconciling;  ///< duration of these reconciliations

  friend bool operator==(const WorkCounters&, const WorkCounters&) = default;
};

/// A node agent after a round of its worker. Kernel values are not part of it: reading them costs
/// system calls per container, so they are read on request.
struct Snapshot {
  std::uint64_t round = 0;  ///< ascending
  agent::AgentState state;
  agent::Metrics metrics;
  agent::Timings timings;
  WorkCounters counters;
  /// Result of the last reconciliation; nullopt before the first one.
  std::optional<Result<agent::ReconcileReport>> reconciled;
  /// Why the kubelet's files are older than the state; nullopt if they are up to date.
  std::optional<Error> not_settled;
  /// What was done to interrupts, queues and services; nullopt if they are left alone.
  std::optional<quiet::QuietReport> quieted;
  /// Mode observe: the last comparison. Null before the first one and in other modes.
  std::shared_ptr<const verbs::Comparison> comparison;
};

/// Counters about a runtime's containers since the service started.
struct FollowerCounters {
  std::uint64_t found_unpinned = 0;   ///< containers that ran unknown or without their cpuset
  double unpinned_seconds = 0;        ///< upper bound of the time that these ran so
  std::uint64_t stopped = 0;          ///< containers that could not be confined
  std::uint64_t start_refusals = 0;   ///< containers that were not allowed to start
  std::uint64_t create_refusals = 0;  ///< containers that were not allowed to be created
  std::uint64_t resize_refusals = 0;  ///< containers that could not be resized
  std::uint64_t reverted = 0;         ///< cpusets that others had changed and that were restored
  std::uint64_t differences = 0;      ///< mode observe: containers whose cpuset differs now
};

/// FollowerCounters plus the counters of the connection.
struct RuntimeCounters : FollowerCounters {
  bool is_connected = false;
  bool is_healthy = true;  ///< connected, or disconnected only briefly; and no static kubelet
  bool kubelet_is_static = false;     ///< mode enforce: the kubelet's own CPU manager decides too
  std::uint64_t runtime_overlap = 0;  ///< exclusive CPUs that the runtime's own group can use
  std::uint64_t connections = 0;      ///< connections that reached synchronization
  agent::Durations answers;  ///< duration of the runtime's requests, from arrival to answer
};

/// Receives changes until destroyed. Thread-safe.
class Subscription {
 public:
  /// Keeps at most `limit` changes until they are taken. The worker calls `notify` after every
  /// round with changes; it must neither block nor throw.
  Subscription(std::size_t limit, std::function<void()> notify)
      : limit_(limit), notify_(std::move(notify)) {}

  struct Taken {
    std::vector<verbs::Event> changes;
    bool has_lagged = false;  ///< changes were dropped: read the snapshot again
  };
  /// Returns the changes since the last call, oldest first. Empty with has_lagged: the snapshot
  /// contains them all.
  [[nodiscard]] Taken take();

  /// Called by the worker.
  void add(const std::vector<verbs::Event>& changes);

 private:
  std::size_t limit_;
  std::function<void()> notify_;
  std::mutex mutex_;
  std::deque<verbs::Event> changes_;
  bool has_lagged_ = false;
};

}  // namespace pinfold::worker
