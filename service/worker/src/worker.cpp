#include "pinfold/worker/worker.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/agent/outcome.hpp"
#include "pinfold/types/named.hpp"
#include "queue_entry.hpp"

// How it works
//
// One thread, in run(), owns the agent, so the agent needs no locks. Other threads put entries
// (requests and tasks) into a queue and wake it through an eventfd. A round handles the entries
// that were queued when it began, in order; later ones wait for the next round, so that a busy
// client cannot put off a reconciliation forever. Consecutive Admit requests, up to pods_together
// pods, become one transaction with one commit. A round also reconciles, and checkpoints the
// journal, if that is due.
//
// Readers never touch the agent: publish() copies its state into an immutable snapshot, once per
// transaction and not once per reader. Pods are shared between the copies of a state.
//
// Invariants:
// - The completion of a queued request is called exactly once: by the round, by give_up_late(), or
//   when run() ends.
// - For a request, publish() comes before the completion, so that a client that has its answer also
//   sees its effect in the snapshot. Only a request that replaces the node keeps the last snapshot.
//   A task answers by itself, before publish().
// - No mutex is held while the agent works or a completion runs.
// - A second thread of run(), in Queue::keep_time(), answers requests whose deadline has passed
//   while a long request is being executed. An entry leaves the queue under its mutex, so that only
//   one of the two threads gets it.
// - now() never goes back; deadlines of entries are on the clock WorkerOptions::now itself.

namespace pinfold::worker {
namespace {

using agent::LogLevel;
using std::chrono::milliseconds;

bool is_readable(const UniqueFd& fd) {
  pollfd entry{fd.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & POLLIN) != 0;
}

}  // namespace

Worker::Worker(agent::NodeAgent agent, WorkerOptions options)
    : options_(std::move(options)),
      agent_(std::move(agent)),
      node_(agent_.shared_node()),
      offline_(agent_.offline()),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      last_now_(options_.now()),
      watch_from_(last_now_),
      reconcile_at_(watch_from_),
      pause_(options_.reconcile.interval),
      queue_(options_),
      times_(options_.reconcile),
      pages_(options_.pages) {
  publish();
}

Worker::~Worker() = default;

Result<void> Worker::submit(Request request) {
  PINFOLD_TRY(verbs::check_size(request.action));
  if (!std::holds_alternative<verbs::ReadComparison>(request.action))
    return put(std::move(request));
  const auto comparison = snapshot()->comparison;
  request.done(comparison == nullptr ? verbs::Answer(verbs::Done{}) : verbs::Answer(*comparison));
  return {};
}

Result<void> Worker::submit(Task task) { return put(std::move(task)); }

Result<void> Worker::put(Entry entry) {
  PINFOLD_TRY(queue_.put(std::move(entry)));
  (void)::eventfd_write(wake_.get(), 1);
  return {};
}

std::shared_ptr<const Snapshot> Worker::snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

std::shared_ptr<Subscription> Worker::subscribe(std::size_t limit, std::function<void()> notify) {
  auto subscription = std::make_shared<Subscription>(limit, std::move(notify));
  const std::lock_guard lock(mutex_);
  subscriptions_.push_back(subscription);
  return subscription;
}

bool Worker::is_replaced() const {
  const std::lock_guard lock(mutex_);
  return is_replaced_;
}

void Worker::set_comparison(verbs::Comparison comparison) {
  auto shared = std::make_shared<const verbs::Comparison>(std::move(comparison));
  const std::lock_guard lock(mutex_);
  comparison_ = std::move(shared);
}

void Worker::set_reconcile(const agent::WatchTimes& times, agent::PageMoves pages) {
  {
    const std::lock_guard lock(mutex_);
    times_ = times;
    pages_ = pages;
    has_new_times_ = true;
  }
  (void)::eventfd_write(wake_.get(), 1);
}

void Worker::stop() {
  queue_.stop();
  (void)::eventfd_write(wake_.get(), 1);
}

/// Returns monotonic time: a clock that steps back is compensated.
Clock::time_point Worker::now() {
  const auto time = options_.now() + gone_back_;
  if (time < last_now_) gone_back_ += last_now_ - time;
  last_now_ = std::max(last_now_, time);
  return last_now_;
}

void Worker::run() {
  std::thread keeper([this] { queue_.keep_time(); });
  while (!queue_.is_stopping()) {
    run_round();
    if (options_.alive) options_.alive();
    wait();
  }
  const std::vector<Entry> left = queue_.end();
  keeper.join();
  if (!is_replaced()) {
    checkpoint_journal();
    publish();
  }
  for (const Entry& entry : left) give_up(entry, agent::stopping_error());
}

void Worker::run_round() {
  queue_.set_busy(true);
  do_round();
  queue_.set_busy(false);
}

void Worker::do_round() {
  const auto end = queue_.end_of_waiting();  // later entries wait for the next round
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(has_new_times_, false)) {
      pause_ = times_.interval;
      reconcile_at_ = std::min(reconcile_at_, now() + pause_);
    }
  }
  has_changed_ = has_changed_ || is_readable(changes_);
  const bool is_due = has_changed_ || now() >= reconcile_at_;
  if (!end && !is_due) {
    watch_if_due();
    return checkpoint_if_due();
  }
  changes_.reset();  // ignore the changes that this round makes itself
  while (true) {
    give_up_late();
    auto entries = queue_.take(end.value_or(0));
    if (entries.empty()) break;
    do_entries(std::move(entries));
    queue_.set_busy(true);  // measure each entry on its own
  }
  if (is_replaced()) return;
  if (is_due) do_due();
  checkpoint_if_due();
  watch_from_ = now() + agent::kLeastPause;
}

void Worker::do_entries(std::vector<Entry> entries) {
  state_.counters.requests += entries.size();
  if (is_replaced()) {
    for (const Entry& entry : entries) give_up(entry, agent::stopping_error());
    return;
  }
  if (pods_to_admit(entries.front()) == nullptr) {
    return std::visit([this](const auto& one) { do_one(one); }, entries.front());
  }
  std::vector<Request> admissions;
  admissions.reserve(entries.size());
  for (Entry& entry : entries) admissions.push_back(std::get<Request>(std::move(entry)));
  do_admissions(admissions);
}

void Worker::do_admissions(const std::vector<Request>& requests) {
  std::vector<const verbs::Admit*> admits;
  admits.reserve(requests.size());
  for (const Request& request : requests) admits.push_back(&std::get<verbs::Admit>(request.action));
  ++state_.counters.admit_rounds;
  const auto begin = now();
  auto answers = verbs::admit_together(agent_, admits);
  state_.counters.admissions.observe(now() - begin);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (answers[i]) verbs::add_events(requests[i].action, *answers[i], happened_);
  }
  publish();  // before answering, so that a client that has its answer also sees it in the snapshot
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i].done(std::move(answers[i]));
  checkpoint_later();
}

void Worker::do_one(const Request& request) {
  auto answer = verbs::execute(agent_, request.action, options_.source);
  if (answer) verbs::add_events(request.action, *answer, happened_);
  const auto* const outcome = answer ? std::get_if<verbs::Reconfigured>(&*answer) : nullptr;
  if (outcome != nullptr && outcome->is_applied && outcome->other_node) {
    finish_replaced();
    request.done(std::move(answer));
    if (options_.replaced) options_.replaced();
    return;
  }
  if (std::holds_alternative<verbs::CheckpointJournal>(request.action)) {
    set_checkpointed(answer);
  } else {
    checkpoint_later();
  }
  if (std::holds_alternative<verbs::Reconcile>(request.action)) {
    state_.reconciled.reset();
    if (answer) {
      state_.reconciled.emplace(std::get<agent::ReconcileReport>(*answer));
    } else {
      state_.reconciled.emplace(fail(answer.error()));
    }
  }
  publish();
  request.done(std::move(answer));
}

/// Ends the work: the state now belongs to another node, and readers keep the last snapshot.
void Worker::finish_replaced() {
  checkpoint_journal();
  queue_.stop();
  const std::lock_guard lock(mutex_);
  is_replaced_ = true;
}

void Worker::do_one(const Task& task) {
  auto changes = task.run(&agent_);
  std::move(changes.begin(), changes.end(), std::back_inserter(happened_));
  publish();
  checkpoint_later();
}

/// Reconciles and checkpoints the journal, after a change below the root of the groups or when the
/// time has come.
void Worker::do_due() {
  has_changed_ = false;
  agent::WatchTimes times;
  agent::PageMoves pages = agent::PageMoves::kOff;
  {
    const std::lock_guard lock(mutex_);
    times = times_;
    pages = pages_;
  }
  bool is_ok = true;
  if (agent_.enforces()) {
    const auto begin = now();
    const verbs::Action action = verbs::Reconcile{pages};
    auto answer = verbs::execute(agent_, action, options_.source);
    if (answer) verbs::add_events(action, *answer, happened_);
    auto report = verbs::expect<agent::ReconcileReport>(std::move(answer));
    state_.counters.reconciling.observe(now() - begin);
    // Only the owner of a group above can end narrowing, so it is no reason to look more often.
    is_ok = report && report->remaining.size() == report->narrowed.size();
    ++state_.counters.reconciliations;
    if (!report) log(LogLevel::kError, "reconcile: " + report.error().message);
    if (report) log_report(*report);
    state_.reconciled.reset();
    state_.reconciled.emplace(std::move(report));
  }
  checkpoint_journal();
  pause_ = next_pause(is_ok && !state_.not_settled, pause_, times);
  reconcile_at_ = now() + pause_;
  publish();
}

void Worker::log_report(const agent::ReconcileReport& report) {
  if (!report.drift.empty()) {
    ++state_.counters.drifts;
    if (report.remaining.empty()) ++state_.counters.repaired;
    if (!report.overlap.empty()) ++state_.counters.overlaps;
  }
  for (const std::string& line : report.drift) log(LogLevel::kWarning, "drift: " + line);
  if (!report.overlap.empty()) {
    log(LogLevel::kWarning,
        "overlap: other processes could run on the exclusive " + cpus_named(report.overlap));
  }
  for (const enforce::Step& step : report.done) log(LogLevel::kInfo, "applied: " + to_string(step));
  for (const std::string& line : report.moved) log(LogLevel::kInfo, "applied: " + line);
  std::set<std::string> known;  // a group above that stays narrowed is logged only once
  if (state_.reconciled && *state_.reconciled) {
    const auto& narrowed = (*state_.reconciled)->narrowed;
    known.insert(narrowed.begin(), narrowed.end());
  }
  for (const std::string& line : report.remaining) {
    const auto& narrowed = report.narrowed;
    const bool is_narrowed = std::find(narrowed.begin(), narrowed.end(), line) != narrowed.end();
    const auto level = is_narrowed ? LogLevel::kWarning : LogLevel::kError;
    if (!known.contains(line)) log(level, "remaining: " + line);
  }
}

void Worker::checkpoint_later() {
  if (!checkpoint_at_) checkpoint_at_ = now() + options_.checkpoint_after;
}

void Worker::checkpoint_if_due() {
  if (!checkpoint_at_ || now() < *checkpoint_at_) return;
  const bool was_current = !state_.not_settled;
  checkpoint_journal();
  if (was_current == state_.not_settled.has_value()) publish();
}

void Worker::checkpoint_journal() {
  const auto checkpointed = agent_.checkpoint_journal();
  if (!checkpointed && !state_.not_settled) {
    log(LogLevel::kError, fmt::format("{}; retried with every reconciliation",
                                      agent::describe_not_settled(checkpointed.error())));
  }
  set_checkpointed(checkpointed);
}

void Worker::publish() {
  auto snapshot = std::make_shared<Snapshot>(state_);
  snapshot->round = ++state_.round;
  snapshot->state = agent_.state();
  snapshot->metrics = agent_.metrics();
  snapshot->timings = agent_.timings();
  if (const auto* const quieted = agent_.quiet_report()) snapshot->quieted = *quieted;
  std::vector<std::shared_ptr<Subscription>> subscriptions;
  const Queue::Counters queued = queue_.counters();
  snapshot->counters.busy = queued.busy;
  snapshot->counters.expired = queued.late;
  snapshot->counters.requests += queued.late;
  {
    const std::lock_guard lock(mutex_);
    snapshot->comparison = comparison_;
    snapshot_ = std::move(snapshot);
    std::erase_if(subscriptions_, [](const auto& subscription) { return subscription.expired(); });
    if (!happened_.empty()) {
      for (const auto& subscription : subscriptions_) subscriptions.push_back(subscription.lock());
    }
  }
  for (const auto& subscription : subscriptions) {
    if (subscription != nullptr) subscription->add(happened_);
  }
  happened_.clear();
}

void Worker::watch_if_due() {
  if (!agent_.enforces() || changes_ || now() < watch_from_) return;
  changes_ = options_.watch(agent_.enforced()->root());
}

void Worker::wait() {
  const auto time_now = now();
  auto until = std::min(
      {reconcile_at_, checkpoint_at_.value_or(reconcile_at_), time_now + options_.alive_every});
  if (agent_.enforces() && time_now < watch_from_) until = std::min(until, watch_from_);
  const auto time =
      std::chrono::ceil<milliseconds>(std::max(until - time_now, Clock::duration::zero()));
  std::array<pollfd, 2> fds = {pollfd{wake_.get(), POLLIN, 0}, pollfd{changes_.get(), POLLIN, 0}};
  (void)::poll(fds.data(), fds.size(), static_cast<int>(time.count()));
  eventfd_t ignored = 0;
  (void)::eventfd_read(wake_.get(), &ignored);
}

}  // namespace pinfold::worker
