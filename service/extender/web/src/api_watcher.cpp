#include "pinfold/web/api_watcher.hpp"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace pinfold::web {
namespace {

/// The most bytes of one answer to a list, or of an error.
constexpr std::size_t kMostBody = std::size_t{256} << 20U;
constexpr int kOk = 200;

}  // namespace

/// Only `status` and `stop` are used by other threads.
struct ApiWatcher::Parts {
  Parts(kube::Kind of_kind, ApiWatcherOptions of_options, kube::ObjectSink& of_sink)
      : kind(of_kind),
        options(std::move(of_options)),
        sink(&of_sink),
        watch(of_kind, options.protocol, options.seed),
        client(options.access, options.times) {}

  void run() {
    while (!stop) {
      if (!wait_until_due()) return;
      const auto asked = ask();
      if (!stop) note(asked);
    }
  }

  /// Returns false if the watcher ends.
  bool wait_until_due() {
    std::unique_lock lock(mutex);
    const auto left = watch.due() - options.clock();
    ended.wait_for(lock, left, [this] { return stop.load(); });
    return !stop;
  }

  /// Sends the next request and passes on what comes back.
  Result<void> ask() {
    const auto request = watch.next();
    std::string body;
    Result<void> received;
    const auto take = [&](int code, std::string_view bytes) {
      if (request.is_watch && code == kOk) {
        received = watch.received(bytes, options.clock(), *sink);
        note_contact();
        return received.has_value();
      }
      body += bytes;
      return body.size() <= kMostBody;
    };
    const auto code =
        client.send({.target = request.target,
                     .accept = request.is_watch ? watch_accept(kind) : list_accept(kind),
                     .is_endless = request.is_watch},
                    take, stop);
    if (!received) return received;  // the state machine knows
    if (!code) {
      watch.ended(options.clock(), true);
      return fail(code.error());
    }
    if (!request.is_watch || *code != kOk) {
      return watch.answered(*code, body, options.clock(), *sink);
    }
    watch.ended(options.clock(), false);
    return {};
  }

  void note_contact() {
    const std::lock_guard lock(mutex);
    status.last_contact = watch.last_contact();
    status.problem.clear();
  }

  void note(const Result<void>& asked) {
    std::unique_lock lock(mutex);
    status.is_synced = watch.is_synced();
    status.last_contact = watch.last_contact();
    status.lists = watch.lists();
    const std::string problem = asked ? "" : asked.error().message;
    const bool is_new = status.problem != problem;
    status.problem = problem;
    if (asked) return;
    ++status.errors;
    lock.unlock();
    if (is_new) options.warn(problem);
  }

  kube::Kind kind;
  ApiWatcherOptions options;
  kube::ObjectSink* sink;
  kube::ListWatch watch;
  kube_client::ApiClient client;
  std::atomic<bool> stop{false};
  mutable std::mutex mutex;
  std::condition_variable ended;
  WatchStatus status;
  std::thread thread;
};

ApiWatcher::ApiWatcher(kube::Kind kind, ApiWatcherOptions options, kube::ObjectSink& sink)
    : parts_(std::make_unique<Parts>(kind, std::move(options), sink)) {
  parts_->thread = std::thread([parts = parts_.get()] { parts->run(); });
}

ApiWatcher::~ApiWatcher() {
  {
    const std::lock_guard lock(parts_->mutex);
    parts_->stop = true;
  }
  parts_->ended.notify_all();
  parts_->thread.join();
}

WatchStatus ApiWatcher::status() const {
  const std::lock_guard lock(parts_->mutex);
  return parts_->status;
}

}  // namespace pinfold::web
