// Worker: the queue and its deadlines.

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "queue_entry.hpp"

namespace pinfold::worker {

using std::chrono::milliseconds;

Result<void> Worker::put(Entry entry) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return fail(stopping_error());
    constexpr std::size_t kReserve = 8;
    const auto* const request = std::get_if<Request>(&entry);
    const bool is_other = request != nullptr && request->origin == Origin::kOther;
    const std::size_t reserved = is_other ? options_.queue_limit / kReserve : 0;
    if (queue_.size() >= options_.queue_limit - reserved) {
      ++busy_;
      return fail(ErrorCode::kBusy,
                  fmt::format("{} requests are already waiting: try again later", queue_.size()));
    }
    if (deadline_of(entry) != Clock::time_point::max()) has_news_.notify_one();
    queue_.push_back({next_number_++, std::move(entry)});
  }
  (void)::eventfd_write(wake_.get(), 1);
  return {};
}

std::size_t Worker::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

/// Takes the next entry with a number below `end`, or several consecutive admissions.
std::vector<Worker::Entry> Worker::take(std::uint64_t end) {
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

milliseconds Worker::busy_for() const {
  const std::lock_guard lock(mutex_);
  if (!busy_since_) return milliseconds(0);
  return std::chrono::duration_cast<milliseconds>(options_.now() - *busy_since_);
}

void Worker::set_busy(bool is_busy) {
  const std::lock_guard lock(mutex_);
  busy_since_.reset();
  if (is_busy) busy_since_ = options_.now();
}

void Worker::give_up_late() {
  std::vector<Entry> late;
  {
    const std::lock_guard lock(mutex_);
    const auto time = options_.now();
    const auto is_late = [&](const Waiting& one) { return time >= deadline_of(one.entry); };
    const auto first = std::stable_partition(queue_.begin(), queue_.end(),
                                             [&](const Waiting& one) { return !is_late(one); });
    for (auto one = first; one != queue_.end(); ++one) late.push_back(std::move(one->entry));
    queue_.erase(first, queue_.end());
    late_ += late.size();
  }
  for (const Entry& entry : late) {
    give_up(entry, {ErrorCode::kBusy, 0,
                    "other requests took longer than the time limit: nothing was done"});
  }
}

/// Keeps deadlines and the alive signal while a request is being executed.
void Worker::keep_time() {
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

}  // namespace pinfold::worker
