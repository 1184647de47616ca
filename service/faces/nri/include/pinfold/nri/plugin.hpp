#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "pinfold/nri/messages.hpp"

namespace pinfold::nri {

/// Sends the answer to one request. Thread-safe; it can be kept and used later, as long as the
/// plugin's io_context lives. Only the first answer counts, and none after the connection has
/// ended. Without an answer the runtime closes the connection at the deadline and continues as if
/// the plugin agreed.
template <class T>
class Reply {
 public:
  using Send = std::function<void(Result<PluginAnswer>)>;

  Reply(Send send, std::optional<TimePoint> deadline)
      : send_(std::move(send)), deadline_(deadline) {}

  /// An error makes the runtime's operation fail with its message.
  void operator()(Result<T> answer) const {
    send_(std::move(answer).map([](T message) { return PluginAnswer(std::move(message)); }));
  }
  /// When the runtime stops waiting; nullopt if unknown.
  [[nodiscard]] const std::optional<TimePoint>& deadline() const { return deadline_; }

 private:
  Send send_;
  std::optional<TimePoint> deadline_;
};

/// The behaviour of a plugin. Called by the thread that runs the io_context, so no function may
/// block. A runtime makes one request at a time, for all pods.
class Handler {
 public:
  virtual ~Handler() = default;

  /// The runtime accepted the plugin. Configure may come first.
  virtual void registered() = 0;
  /// Answers with the events to receive, see kAllEvents; 0 means all.
  virtual void handle(api::ConfigureRequest request, Reply<api::ConfigureResponse> reply) = 0;
  /// Receives all pods, and the containers that are created or running.
  virtual void handle(api::SynchronizeRequest request, Reply<api::SynchronizeResponse> reply) = 0;
  virtual void handle(api::CreateContainerRequest request,
                      Reply<api::CreateContainerResponse> reply) = 0;
  virtual void handle(api::UpdateContainerRequest request,
                      Reply<api::UpdateContainerResponse> reply) = 0;
  virtual void handle(api::StopContainerRequest request,
                      Reply<api::StopContainerResponse> reply) = 0;
  /// Receives any other event. An error at START_CONTAINER keeps the container from running.
  virtual void handle(api::StateChangeEvent request, Reply<api::Empty> reply) = 0;
  /// The runtime is shutting down.
  virtual void shut_down() = 0;
  /// An attempt to connect failed, or a connection ended. The next attempt follows after `pause`.
  virtual void disconnected(const Error& error, std::chrono::milliseconds pause) = 0;
};

struct PluginOptions {
  Identity identity;
  std::string socket = "/var/run/nri/nri.sock";
  std::chrono::milliseconds registration_timeout{5'000};
  /// Pause between attempts to connect. It doubles each time until the runtime has synchronized.
  std::chrono::milliseconds least_pause{100};
  std::chrono::milliseconds greatest_pause{1000};
};

/// Keeps a plugin connected: connects, registers, calls the handler, and starts again when the
/// connection ends. Runs entirely in the one thread of `io`.
class Plugin {
 public:
  using Done = std::function<void(Result<api::UpdateContainersResponse>)>;

  /// `io` and `handler` must outlive the plugin. Errors: kInvalidArgument for an invalid identity
  /// or path.
  [[nodiscard]] static Result<Plugin> start(boost::asio::io_context& io, Handler& handler,
                                            PluginOptions options);
  Plugin(Plugin&&) noexcept = default;
  Plugin& operator=(Plugin&&) = delete;
  /// Ends the connection and stops calling the handler. The handler itself may do this.
  ~Plugin();

  /// Asks the runtime to update containers, outside of the runtime's requests; it acts only when
  /// all of its requests are answered. Beware: containerd can hang forever if such a request meets
  /// an event of its own; updates that travel with an answer are safe. May be called by any thread.
  /// `done` is called once, by the thread of `io`. Errors of `done`: those of
  /// Session::update_containers and Updated; kNotFound without a connection; kIo if it ends.
  void update_containers(api::UpdateContainersRequest request, std::chrono::milliseconds time_limit,
                         Done done);
  /// Returns the process that listens at the socket; nullopt without a connection, or if the
  /// process is in another PID namespace. Call it in the thread of `io`.
  [[nodiscard]] std::optional<pid_t> runtime_process() const;

 private:
  class Connection;
  struct Shared;
  explicit Plugin(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  static void connect(const std::shared_ptr<Shared>& shared);
  static void retry(const std::shared_ptr<Shared>& shared, const Error& error);

  std::shared_ptr<Shared> shared_;
};

}  // namespace pinfold::nri
