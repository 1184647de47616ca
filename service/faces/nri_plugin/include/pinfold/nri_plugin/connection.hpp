#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/nri_plugin/follower.hpp"
#include "pinfold/settings/nri_settings.hpp"
#include "pinfold/worker/worker.hpp"

namespace pinfold::nri {

struct ConnectionOptions {
  settings::NriSettings settings;
  agent::LogSink log;
  /// Receives the status line for the service manager whenever it changes. May be empty.
  std::function<void(const std::string&)> status;
  std::chrono::milliseconds look_every{10'000};
  /// Returns the absolute directory of the group of a process of the runtime.
  std::function<Result<std::string>(const agent::ObservedCgroups&, pid_t)> find_group =
      [](const agent::ObservedCgroups& enforced, pid_t process) {
        return enforced.directory_of_process(process);
      };
  /// Pause between two attempts to connect.
  std::chrono::milliseconds least_pause{100};
  std::chrono::milliseconds greatest_pause{1000};
};

/// Connects a follower with a runtime: turns the runtime's requests into tasks of the worker and
/// sends the answers back. Everything else runs in the one thread of `io`.
class RuntimeConnection {
 public:
  /// `io` and `worker` must outlive the connection. Destroy it after the worker's run() has
  /// returned. Errors: those of Plugin::start.
  [[nodiscard]] static Result<std::unique_ptr<RuntimeConnection>> start(
      boost::asio::io_context& io, worker::Worker& worker, std::unique_ptr<Follower> follower,
      ConnectionOptions options);
  RuntimeConnection(const RuntimeConnection&) = delete;
  RuntimeConnection& operator=(const RuntimeConnection&) = delete;
  ~RuntimeConnection();

  /// May be called by any thread.
  [[nodiscard]] worker::RuntimeCounters counters() const;

 private:
  class Link;
  explicit RuntimeConnection(std::unique_ptr<Link> link);

  std::unique_ptr<Link> link_;
};

}  // namespace pinfold::nri
