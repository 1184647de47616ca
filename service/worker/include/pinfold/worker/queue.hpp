#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "pinfold/worker/options.hpp"
#include "pinfold/worker/request.hpp"

namespace pinfold::worker {

/// The entries that wait for a worker, and their deadlines. Thread-safe, except that only one
/// thread may call take() and set_busy().
class Queue {
 public:
  /// Uses the capacity, the clock, the time limits and `alive` of the options, which must live
  /// longer.
  explicit Queue(const WorkerOptions& options) : options_(options) {}

  /// Adds an entry. Errors: kBusy if the queue is full; stopping_error() after stop().
  [[nodiscard]] Result<void> put(Entry entry);
  /// Takes the next entry with a number below `end`, or several consecutive admissions. Empty:
  /// there is none.
  [[nodiscard]] std::vector<Entry> take(std::uint64_t end);
  /// Returns the number of waiting entries.
  [[nodiscard]] std::size_t size() const;
  /// Returns a number above those of all waiting entries; nullopt if none waits.
  [[nodiscard]] std::optional<std::uint64_t> end_of_waiting() const;

  /// Notes whether the worker is now busy or idle.
  void set_busy(bool is_busy);
  /// Returns how long the worker has been busy; zero if it is idle.
  [[nodiscard]] std::chrono::milliseconds busy_for() const;

  /// Answers entries whose deadline has passed.
  void give_up_late();
  /// Keeps deadlines and the alive signal until end() is called; runs in its own thread.
  void keep_time();

  /// Makes put() fail from now on.
  void stop();
  [[nodiscard]] bool is_stopping() const;
  /// Ends keep_time(). Returns the entries that still wait.
  [[nodiscard]] std::vector<Entry> end();

  /// Requests, since the queue was made, that did not become work.
  struct Counters {
    std::uint64_t busy = 0;  ///< the queue was full
    std::uint64_t late = 0;  ///< given up because their deadline had passed
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Waiting {
    std::uint64_t number;  ///< ascending
    Entry entry;
  };

  const WorkerOptions& options_;
  mutable std::mutex mutex_;  ///< protects the members below
  std::deque<Waiting> queue_;
  std::uint64_t next_number_ = 0;
  Counters counters_;
  std::optional<Clock::time_point> busy_since_;
  std::condition_variable has_news_;  ///< an earlier deadline, or the end
  bool is_stopping_ = false;
  bool has_ended_ = false;
};

}  // namespace pinfold::worker
