#include "pinfold/worker/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pinfold/agent/outcome.hpp"
#include "queue_entry.hpp"

namespace pinfold::worker {

using std::chrono::milliseconds;

Result<void> Queue::put(Entry entry) {
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return fail(agent::stopping_error());
  constexpr std::size_t kReserve = 8;
  const auto* const request = std::get_if<Request>(&entry);
  const bool is_other = request != nullptr && request->origin == Origin::kOther;
  const std::size_t reserved = is_other ? options_.queue_limit / kReserve : 0;
  if (queue_.size() >= options_.queue_limit - reserved) {
    ++counters_.busy;
    return fail(ErrorCode::kBusy,
                fmt::format("{} requests are already waiting: try again later", queue_.size()));
  }
  if (deadline_of(entry) != Clock::time_point::max()) has_news_.notify_one();
  queue_.push_back({next_number_++, std::move(entry)});
  return {};
}

std::size_t Queue::size() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

std::optional<std::uint64_t> Queue::end_of_waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty() ? std::nullopt : std::optional(next_number_);
}

std::vector<Entry> Queue::take(std::uint64_t end) {
  std::vector<Entry> taken;
  std::size_t pods = 0;
  const std::lock_guard lock(mutex_);
  while (!queue_.empty() && queue_.front().number < end) {
    const auto* const more = pods_to_admit(queue_.front().entry);
    const bool fits = more != nullptr && pods + more->size() <= options_.pods_together;
    if (!taken.empty() && !fits) break;
    if (more != nullptr) pods += more->size();
    const bool is_alone = more == nullptr;
    taken.push_back(std::move(queue_.front().entry));
    queue_.pop_front();
    if (is_alone) break;
  }
  return taken;
}

milliseconds Queue::busy_for() const {
  const std::lock_guard lock(mutex_);
  if (!busy_since_) return milliseconds(0);
  return std::chrono::duration_cast<milliseconds>(options_.now() - *busy_since_);
}

void Queue::set_busy(bool is_busy) {
  const std::lock_guard lock(mutex_);
  busy_since_.reset();
  if (is_busy) busy_since_ = options_.now();
}

void Queue::give_up_late() {
  std::vector<Entry> late;
  {
    const std::lock_guard lock(mutex_);
    const auto time = options_.now();
    const auto is_late = [&](const Waiting& one) { return time >= deadline_of(one.entry); };
    const auto first = std::stable_partition(queue_.begin(), queue_.end(),
                                             [&](const Waiting& one) { return !is_late(one); });
    for (auto one = first; one != queue_.end(); ++one) late.push_back(std::move(one->entry));
    queue_.erase(first, queue_.end());
    counters_.late += late.size();
  }
  for (const Entry& entry : late) {
    give_up(entry, {ErrorCode::kBusy, 0,
                    "other requests took longer than the time limit: nothing was done"});
  }
}

void Queue::keep_time() {
  std::unique_lock lock(mutex_);
  auto alive_at = options_.now() + options_.alive_every;
  while (!has_ended_) {
    auto until = alive_at;
    for (const Waiting& one : queue_) until = std::min(until, deadline_of(one.entry));
    const auto wait = until - options_.now();
    if (wait > Clock::duration::zero()) has_news_.wait_for(lock, wait);
    const auto time = options_.now();
    bool is_alive = false;
    if (time >= alive_at) {
      is_alive = busy_since_ && time - *busy_since_ < options_.longest_request;
      alive_at = time + options_.alive_every;
    }
    lock.unlock();
    give_up_late();
    if (is_alive && options_.alive) options_.alive();
    lock.lock();
  }
}

void Queue::stop() {
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
}

bool Queue::is_stopping() const {
  const std::lock_guard lock(mutex_);
  return is_stopping_;
}

std::vector<Entry> Queue::end() {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> left;
  for (Waiting& one : queue_) left.push_back(std::move(one.entry));
  queue_.clear();
  has_ended_ = true;
  has_news_.notify_one();
  return left;
}

Queue::Counters Queue::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace pinfold::worker
