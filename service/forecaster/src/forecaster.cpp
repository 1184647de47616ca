#include "pinfold/forecaster/forecaster.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "pinfold/agent/named_groups.hpp"
#include "pinfold/forecast/episodes.hpp"

namespace pinfold::forecaster {

using agent::LogLevel;

/// Only `stop` and `outlook` are used by other threads.
struct Forecaster::Parts {
  Parts(ForecasterOptions of_options, const worker::Worker& of_worker)
      : options(std::move(of_options)), worker(of_worker), watch(options.root) {}

  void run() {
    std::unique_lock lock(mutex);
    while (!stop) {
      lock.unlock();
      auto next = look();
      lock.lock();
      outlook = std::move(next);
      wake.wait_for(lock, options.interval, [this] { return stop; });
    }
  }

  [[nodiscard]] forecast::MemoryOutlook look();
  void log(LogLevel level, const std::string& message) const {
    if (options.log) options.log(level, "memory: " + message);
  }

  ForecasterOptions options;
  const worker::Worker& worker;
  forecast::MemoryWatch watch;
  forecast::Episodes episodes;
  std::uint64_t alarms = 0;
  bool has_failed = false;   ///< so that a lasting error is logged once
  mutable std::mutex mutex;  ///< protects the members below
  std::condition_variable wake;
  bool stop = false;
  forecast::MemoryOutlook outlook;
  std::thread thread;
};

forecast::MemoryOutlook Forecaster::Parts::look() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  auto forecasts = watch.look(now, [this] {
    return agent::named_groups(worker.node(), worker.snapshot()->state, options.cgroup_root);
  });
  if (!forecasts) {
    if (!std::exchange(has_failed, true)) {
      log(LogLevel::kInfo, "no forecast: " + forecasts.error().message);
    }
    return {};
  }
  has_failed = false;
  for (const forecast::EpisodeNews& news : episodes.look(*forecasts, now)) {
    alarms += news.begins ? 1U : 0U;
    log(news.begins ? LogLevel::kWarning : LogLevel::kInfo, news.text);
  }
  return {watch.numa(), *std::move(forecasts), alarms};
}

Forecaster::Forecaster(ForecasterOptions options, const worker::Worker& worker)
    : parts_(std::make_unique<Parts>(std::move(options), worker)) {
  parts_->thread = std::thread([parts = parts_.get()] { parts->run(); });
}

Forecaster::~Forecaster() {
  {
    const std::lock_guard lock(parts_->mutex);
    parts_->stop = true;
  }
  parts_->wake.notify_all();
  parts_->thread.join();
}

forecast::MemoryOutlook Forecaster::outlook() const {
  const std::lock_guard lock(parts_->mutex);
  return parts_->outlook;
}

}  // namespace pinfold::forecaster
