#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "pinfold/agent/watch.hpp"
#include "pinfold/worker/request.hpp"

namespace pinfold::worker {

struct WorkerOptions {
  /// Capacity of the queue. One eighth is reserved for Origin::kOwner and tasks.
  std::size_t queue_limit = 1024;
  /// Waiting admissions are combined into one transaction of at most this many pods.
  std::size_t pods_together = 128;
  agent::WatchTimes reconcile;  ///< also the delay before a failed checkpoint is tried again
  /// Delay from the first change that the kubelet's files do not contain to their update, so that
  /// changes in quick succession cost one write and one sync each.
  std::chrono::milliseconds checkpoint_after{100};
  agent::PageMoves pages = agent::PageMoves::kOff;  ///< for scheduled reconciliations
  agent::LogSink log;
  /// Where to read the node from when the service starts again.
  verbs::NodeSource source;
  /// Called by run() when a request has given the node another configuration or machine, after its
  /// answer. The worker is then finished and its owner makes a new one. May be empty.
  std::function<void()> replaced;
  /// Called by run() after every round and at least every `alive_every`. While a request is being
  /// executed, run()'s second thread calls it, unless the request takes longer than
  /// `longest_request`. So each call means that requests are being answered. May be empty.
  std::function<void()> alive;
  std::chrono::milliseconds alive_every{10'000};
  std::chrono::milliseconds longest_request{300'000};
  /// If the clock steps back, deadlines do not move.
  std::function<Clock::time_point()> now = Clock::now;
  /// Returns a descriptor that becomes readable on a change below a directory; an invalid one if it
  /// is not watched.
  std::function<UniqueFd(const std::string& directory)> watch = agent::watch_tree;
};

}  // namespace pinfold::worker
