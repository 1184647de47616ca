#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "pinfold/agent/watch.hpp"
#include "pinfold/service/request.hpp"
#include "pinfold/service/snapshot.hpp"

namespace pinfold::service {

using Clock = std::chrono::steady_clock;

struct WorkerOptions {
  /// Requests that wait. An eighth of them is kept for Origin::kOwner and tasks.
  std::size_t queue_limit = 1024;
  /// Admissions that wait together are done together up to so many pods.
  std::size_t pods_together = 128;
  agent::WatchTimes reconcile;  ///< also the time between two attempts to settle that fail
  /// The kubelet's files are brought up to date this long after the first change that they lack, so
  /// that changes which follow each other cost one write and one sync each.
  std::chrono::milliseconds settle_after{100};
  agent::PageMoves pages = agent::PageMoves::kOff;  ///< of reconciliations that are due
  agent::LogSink log;
  /// What the node is made of when the service starts again.
  agent::NodeSource source;
  /// Called by run() when a request has given the node another configuration or machine, after its
  /// answer. The worker is over then: its owner makes another one. Empty: not called.
  std::function<void()> replaced;
  /// Called by run() whenever it has finished a round, and at least every `alive_every`, by a
  /// thread of its own while a request is done, unless that takes longer than `longest_request`:
  /// while it is called, requests are answered. Empty: never.
  std::function<void()> alive;
  std::chrono::milliseconds alive_every{10'000};
  std::chrono::milliseconds longest_request{300'000};
  /// When it goes back, what is due does not become due later for it.
  std::function<Clock::time_point()> now = Clock::now;
  /// A descriptor that becomes readable with a change below a directory; none: it is not watched.
  std::function<UniqueFd(const std::string& directory)> watch = agent::watch_tree;
};

/// What other parts of the service do with the node agent, in one turn of its worker.
struct Task {
  /// Returns what it has changed. Gets the agent; or, if it is too late, kBusy or stopping_error():
  /// then nothing that it returns counts. Must not throw.
  std::function<std::vector<Change>(Result<agent::NodeAgent*>)> run;
  /// As that of a request.
  Clock::time_point deadline = Clock::time_point::max();
};

/// Owns a node agent, and is the only one that uses it: requests from any thread, and
/// reconciliations that are due, are done one after the other by the thread that calls run().
/// Admissions that wait together are committed in one transaction. A request whose deadline passes
/// while it waits is answered at that time, by a second thread of run(): also while another one is
/// done. Thread-safe, except that only one thread may call run() and run_round(). The destructor
/// requires that run() has returned.
class Worker {
 public:
  Worker(agent::NodeAgent agent, WorkerOptions options);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  /// Puts a request into the queue; its completion is called by run(), exactly once. That of
  /// ReadComparison is called before this returns.
  /// Errors: those of check_size; kBusy if the queue is full; stopping_error(). Then the completion
  /// is not called.
  [[nodiscard]] Result<void> submit(Request request);
  /// The same for a task.
  [[nodiscard]] Result<void> submit(Task task);
  /// The state after the last round, for node(); never null. Waits for no request.
  [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const;
  /// What does not change while the worker lives.
  [[nodiscard]] const Node& node() const { return *node_; }
  [[nodiscard]] const CpuSet& offline() const { return offline_; }
  /// Whether the agent has another node: every further request is answered with stopping_error().
  [[nodiscard]] bool is_replaced() const;
  /// When run_round() has something to do although nothing happens, by WorkerOptions::now. For the
  /// thread that calls it.
  [[nodiscard]] Clock::time_point due() const {
    return std::min(reconcile_at_, settle_at_.value_or(reconcile_at_)) - gone_back_;
  }
  /// The requests that wait for their turn.
  [[nodiscard]] std::size_t waiting() const;
  /// For how long the present round has been running; zero: none is.
  [[nodiscard]] std::chrono::milliseconds busy_for() const;
  /// Answers the requests that wait although their deadline has passed: they are not done.
  void give_up_late();
  /// What happens from now on. It ends with the returned object.
  [[nodiscard]] std::shared_ptr<Subscription> subscribe(std::size_t limit,
                                                        std::function<void()> notify);
  /// In the snapshot from the next round on.
  void set_comparison(Comparison comparison);
  /// Other times between reconciliations, from the next one on.
  void set_reconcile(const agent::WatchTimes& times, agent::PageMoves pages);

  /// Does rounds until stop(). Then the state is settled.
  void run();
  /// One round: what is in the queue, and a reconciliation if one is due. Waits for nothing.
  void run_round();
  /// Lets run() return after the round that it is in; requests that still wait are answered with
  /// kBusy.
  void stop();

 private:
  [[nodiscard]] Clock::time_point now();
  void wait();
  void watch_if_due();
  using Entry = std::variant<Request, Task>;
  struct Waiting {
    std::uint64_t number;  ///< ascending
    Entry entry;
  };
  [[nodiscard]] Result<void> put(Entry entry);
  [[nodiscard]] std::vector<Entry> take(std::uint64_t end);
  void do_round();
  void do_entries(std::vector<Entry> entries);
  void keep_time();
  void set_busy(bool is_busy);
  void do_admissions(const std::vector<Request>& requests);
  void do_one(const Request& request);
  void do_one(const Task& task);
  void finish_replaced();
  void do_due();
  void log_report(const agent::ReconcileReport& report);
  void settle();
  void settle_later();
  void settle_if_due();
  template <class T>
  void set_settled(const Result<T>& outcome) {
    settle_at_.reset();
    state_.not_settled.reset();
    if (!outcome) state_.not_settled = outcome.error();
  }
  void publish();
  void log(agent::LogLevel level, const std::string& message) const {
    if (options_.log) options_.log(level, message);
  }

  WorkerOptions options_;
  agent::NodeAgent agent_;
  const std::shared_ptr<const Node>
      node_;  ///< readers have it while a request replaces the agent's
  const CpuSet offline_;
  UniqueFd wake_;     ///< eventfd: a request or the end
  UniqueFd changes_;  ///< below the root of the groups; none until kLeastPause after a round
  Clock::time_point last_now_;
  Clock::duration gone_back_{0};  ///< by how much the clock is behind what it was at most
  Clock::time_point watch_from_;
  Clock::time_point reconcile_at_;
  std::optional<Clock::time_point> settle_at_;  ///< none: nothing has changed since
  std::chrono::milliseconds pause_;
  bool has_changed_ = false;      ///< below the root of the groups
  Snapshot state_;                ///< without what publish() adds
  std::vector<Change> happened_;  ///< in this round

  mutable std::mutex mutex_;  ///< protects what follows
  std::deque<Waiting> queue_;
  std::uint64_t next_number_ = 0;
  std::uint64_t late_ = 0;  ///< requests that were given up because their deadline had passed
  std::optional<Clock::time_point> busy_since_;
  bool has_ended_ = false;            ///< run() has
  std::condition_variable has_news_;  ///< an earlier deadline, or the end
  bool is_stopping_ = false;
  bool is_replaced_ = false;
  std::uint64_t busy_ = 0;
  std::shared_ptr<const Comparison> comparison_;
  agent::WatchTimes times_;
  agent::PageMoves pages_;
  bool has_new_times_ = false;
  std::shared_ptr<const Snapshot> snapshot_;
  std::vector<std::weak_ptr<Subscription>> subscriptions_;
};

}  // namespace pinfold::service
