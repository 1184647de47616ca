#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "pinfold/agent/watch.hpp"
#include "pinfold/worker/options.hpp"
#include "pinfold/worker/queue.hpp"
#include "pinfold/worker/request.hpp"
#include "pinfold/worker/snapshot.hpp"

namespace pinfold::worker {

/// Owns a node agent and is its only user. The thread that calls run() executes requests from any
/// thread, and scheduled reconciliations, one after another. Waiting admissions are committed in
/// one transaction. A request whose deadline passes while it waits is answered at that time by
/// run()'s second thread, even while another request is being executed. Thread-safe, except that
/// only one thread may call run() and run_round(). run() must have returned before the destructor
/// is called.
class Worker {
 public:
  Worker(agent::NodeAgent agent, WorkerOptions options);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  /// Queues a request. run() calls its completion exactly once; for ReadComparison, submit() calls
  /// it before it returns.
  /// Errors: those of check_size; kBusy if the queue is full; stopping_error(). On an error the
  /// completion is not called.
  [[nodiscard]] Result<void> submit(Request request);
  /// Queues a task.
  [[nodiscard]] Result<void> submit(Task task);
  /// Returns the state after the last round, for node(); never null. Does not wait for requests.
  [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const;
  /// Constant while the worker lives.
  [[nodiscard]] const Node& node() const { return *node_; }
  [[nodiscard]] const CpuSet& offline() const { return offline_; }
  /// Returns whether the agent has moved to another node; every further request then fails with
  /// stopping_error().
  [[nodiscard]] bool is_replaced() const;
  /// Returns when run_round() next has work even if nothing happens, on the clock
  /// WorkerOptions::now. To be called by the thread that calls run_round().
  [[nodiscard]] Clock::time_point due() const {
    return std::min(reconcile_at_, checkpoint_at_.value_or(reconcile_at_)) - gone_back_;
  }
  /// Returns the number of queued requests.
  [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
  /// Returns how long the worker has been busy with its current requests; zero if it is idle.
  [[nodiscard]] std::chrono::milliseconds busy_for() const { return queue_.busy_for(); }
  /// Answers queued requests whose deadline has passed, without executing them.
  void give_up_late() { queue_.give_up_late(); }
  /// Subscribes to changes from now on, until the returned object is destroyed.
  [[nodiscard]] std::shared_ptr<Subscription> subscribe(std::size_t limit,
                                                        std::function<void()> notify);
  /// Puts a comparison into the snapshot, starting with the next round.
  void set_comparison(verbs::Comparison comparison);
  /// Changes the reconciliation intervals, starting with the next one.
  void set_reconcile(const agent::WatchTimes& times, agent::PageMoves pages);

  /// Runs rounds until stop(), then checkpoints the journal.
  void run();
  /// Runs one round: everything in the queue, and a reconciliation if one is due. Does not wait.
  void run_round();
  /// Makes run() return after the current round. Queued requests are answered with kBusy.
  void stop();

 private:
  [[nodiscard]] Clock::time_point now();
  void wait();
  void watch_if_due();
  [[nodiscard]] Result<void> put(Entry entry);
  void do_round();
  void do_entries(std::vector<Entry> entries);
  void do_admissions(const std::vector<Request>& requests);
  void do_one(const Request& request);
  void do_one(const Task& task);
  void finish_replaced();
  void do_due();
  void log_report(const agent::ReconcileReport& report);
  void checkpoint_journal();
  void checkpoint_later();
  void checkpoint_if_due();
  template <class T>
  void set_checkpointed(const Result<T>& outcome) {
    checkpoint_at_.reset();
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
      node_;  ///< shared with readers while a request replaces the agent's node
  const CpuSet offline_;
  UniqueFd wake_;     ///< eventfd: a new request, or stop
  UniqueFd changes_;  ///< in the cgroup tree; invalid until kLeastPause after a round
  Clock::time_point last_now_;
  Clock::duration gone_back_{0};  ///< how far the clock is behind its highest value
  Clock::time_point watch_from_;
  Clock::time_point reconcile_at_;
  std::optional<Clock::time_point> checkpoint_at_;  ///< empty: the files are up to date
  std::chrono::milliseconds pause_;
  bool has_changed_ = false;            ///< below the root of the groups
  Snapshot state_;                      ///< without the fields that publish() adds
  std::vector<verbs::Event> happened_;  ///< in this round

  Queue queue_;
  mutable std::mutex mutex_;  ///< protects the members below
  bool is_replaced_ = false;
  std::shared_ptr<const verbs::Comparison> comparison_;
  agent::WatchTimes times_;
  agent::PageMoves pages_;
  bool has_new_times_ = false;
  std::shared_ptr<const Snapshot> snapshot_;
  std::vector<std::weak_ptr<Subscription>> subscriptions_;
};

}  // namespace pinfold::worker
