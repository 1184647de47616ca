#include "pinfold/nri_plugin/connection.hpp"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "pinfold/agent/outcome.hpp"
#include "pinfold/nri/plugin.hpp"
#include "pinfold/nri_plugin/premises.hpp"
#include "runtime_group.hpp"

namespace pinfold::nri {
namespace {

namespace asio = boost::asio;
using agent::LogLevel;
using agent::NodeAgent;
using boost::system::error_code;
using worker::RuntimeCounters;
using worker::Task;

}  // namespace

/// The functions of Handler run in the thread of `io`; the callbacks passed to `ask` and `submit`
/// run in the worker's thread.
class RuntimeConnection::Link final : public Handler {
 public:
  Link(asio::io_context& io, worker::Worker& worker, std::unique_ptr<Follower> follower,
       ConnectionOptions options)
      : io_(io),
        worker_(worker),
        follower_(std::move(follower)),
        options_(std::move(options)),
        group_(options_.find_group, options_.log),
        look_(io),
        unhealthy_(io) {}

  Result<void> start() {
    PINFOLD_TRY(connect());
    await_connection();
    await_look();
    return {};
  }

  [[nodiscard]] RuntimeCounters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

  void registered() override {}
  void handle(api::ConfigureRequest request, Reply<api::ConfigureResponse> reply) override {
    runtime_ = fmt::format("{} {}", request.runtime_name(), request.runtime_version());
    api::ConfigureResponse answer;
    answer.set_events(kAllEvents);
    reply(std::move(answer));
  }
  void handle(api::SynchronizeRequest request, Reply<api::SynchronizeResponse> reply) override {
    ask<api::SynchronizeResponse>(
        std::move(reply), TimePoint::max(), [this, request = std::move(request)](NodeAgent& agent) {
          auto answer = follower_->synchronize(agent, request);
          asio::post(io_,
                     [this, pods = request.pods_size(), containers = request.containers_size()] {
                       synchronized(pods, containers);
                     });
          return Result<api::SynchronizeResponse>(std::move(answer));
        });
  }
  void handle(api::CreateContainerRequest request,
              Reply<api::CreateContainerResponse> reply) override {
    const auto deadline = reply.deadline().value_or(TimePoint::max());
    ask<api::CreateContainerResponse>(std::move(reply), deadline,
                                      [this, request = std::move(request)](NodeAgent& agent) {
                                        return follower_->create(agent, request);
                                      });
  }
  void handle(api::UpdateContainerRequest request,
              Reply<api::UpdateContainerResponse> reply) override {
    ask<api::UpdateContainerResponse>(std::move(reply), TimePoint::max(),
                                      [this, request = std::move(request)](NodeAgent& agent) {
                                        return follower_->update(agent, request);
                                      });
  }
  void handle(api::StopContainerRequest request, Reply<api::StopContainerResponse> reply) override {
    ask<api::StopContainerResponse>(
        std::move(reply), TimePoint::max(), [this, request = std::move(request)](NodeAgent& agent) {
          return Result<api::StopContainerResponse>(follower_->stop(agent, request));
        });
  }
  void handle(api::StateChangeEvent request, Reply<api::Empty> reply) override {
    auto deadline = TimePoint::max();  // a notification is never too late
    if (request.event() == api::Event::START_CONTAINER) {
      deadline = reply.deadline().value_or(deadline);
    } else {
      reply = agreeing(request.event(), std::move(reply));
    }
    ask<api::Empty>(std::move(reply), deadline,
                    [this, request = std::move(request)](NodeAgent& agent) {
                      return follower_->change(agent, request).map([] { return api::Empty(); });
                    });
  }
  void shut_down() override { log(LogLevel::kInfo, "NRI: the runtime is going down"); }
  void disconnected(const Error& error, std::chrono::milliseconds pause) override {
    if (is_connected_) await_connection();
    const bool is_news = std::exchange(is_connected_, false) || last_error_ != error.message;
    last_error_ = error.message;
    if (is_news) {
      log(LogLevel::kWarning,
          fmt::format("{}; tries again in {} ms", error.message, pause.count()));
      show("NRI: not connected: " + error.message);
    }
    publish();
  }

 private:
  void log(LogLevel level, const std::string& message) const {
    if (options_.log) options_.log(level, message);
  }
  /// Shows the state of the runtime, unless the kubelet is the greater problem.
  void show(const std::string& line) {
    line_ = line;
    show();
  }
  void show() const {
    if (options_.status) options_.status(kubelet_problem_.empty() ? line_ : kubelet_problem_);
  }

  Result<void> connect() {
    PluginOptions options;
    options.identity = {"pinfold", options_.settings.index};
    options.socket = options_.settings.socket;
    options.least_pause = options_.least_pause;
    options.greatest_pause = options_.greatest_pause;
    PINFOLD_LET(auto plugin, Plugin::start(io_, *this, std::move(options)));
    plugin_.emplace(std::move(plugin));
    return {};
  }
  /// Starts anew: a request was not handled, so the known state of the runtime is unreliable.
  void start_anew() {
    plugin_.reset();
    disconnected({ErrorCode::kBusy, 0, "NRI: too many messages are waiting: synchronizes again"},
                 std::chrono::milliseconds(0));
    if (const auto connected = connect(); !connected) {
      log(LogLevel::kError, connected.error().message);
    }
  }
  void await_connection() {
    unhealthy_.expires_after(options_.settings.unhealthy_after);
    unhealthy_.async_wait([this](error_code cancelled) {
      if (cancelled || is_connected_) return;
      is_overdue_ = true;
      const std::string line =
          fmt::format("NRI: no runtime for {} s: new containers are not pinned",
                      options_.settings.unhealthy_after.count());
      log(LogLevel::kError, line);
      show(line);
      publish();
    });
  }
  void synchronized(int pods, int containers) {
    is_connected_ = true;
    is_overdue_ = false;
    ++connections_;
    unhealthy_.cancel();
    last_error_.clear();
    const std::string line = fmt::format("NRI: connected to {}", runtime_);
    log(LogLevel::kInfo, fmt::format("{}: {} pods, {} containers", line, pods, containers));
    show(line);
    publish();
  }
  /// The kubelet's policy can become static while the service runs. Only one of the two may decide,
  /// so containers that then arrive with a cpuset are rejected.
  void look_at_kubelet() {
    if (options_.settings.mode != settings::NriMode::kEnforce) return;
    const auto checked = check_kubelet(options_.settings.kubelet_root);
    const bool is_known = checked || checked.error().code == ErrorCode::kUnsupported;
    if (!is_known) return;
    const std::string problem = checked ? "" : checked.error().message;
    if (std::exchange(kubelet_problem_, problem) == problem) return;
    if (problem.empty()) {
      log(LogLevel::kInfo, "nri: the kubelet's own CPU manager is no longer static");
    } else {
      log(LogLevel::kError, problem + ". Its containers are rejected until then");
    }
    show();
    publish();
  }

  /// Publishes the counters of this thread.
  void publish() {
    const std::lock_guard lock(mutex_);
    counters_.is_connected = is_connected_;
    counters_.is_healthy = !is_overdue_ && kubelet_problem_.empty();
    counters_.kubelet_is_static = !kubelet_problem_.empty();
    counters_.connections = connections_;
  }
  /// Publishes the follower's counters and comparison, and returns its changes. Runs in the
  /// worker's thread.
  [[nodiscard]] std::vector<verbs::Event> publish_follower() {
    if (auto comparison = follower_->take_comparison()) {
      worker_.set_comparison(*std::move(comparison));
    }
    const std::lock_guard lock(mutex_);
    static_cast<worker::FollowerCounters&>(counters_) = follower_->counters();
    counters_.runtime_overlap = group_.overlap().size();
    return follower_->take_events();
  }

  /// Acknowledges an event whose error the runtime would ignore (containerd) or answer by leaving a
  /// sandbox behind. The error is only logged.
  [[nodiscard]] Reply<api::Empty> agreeing(api::Event event, Reply<api::Empty> reply) const {
    return {[this, event, reply = std::move(reply)](const Result<PluginAnswer>& answer) {
              if (!answer) {
                log(LogLevel::kWarning,
                    fmt::format("NRI: {}: {}", api::Event_Name(event), answer.error().message));
              }
              reply(api::Empty());
            },
            std::nullopt};
  }
  template <class T>
  void ask(Reply<T> reply, TimePoint deadline, std::function<Result<T>(NodeAgent&)> work) {
    const auto begin = worker::Clock::now();
    Task task{[this, reply, begin, work = std::move(work)](Result<NodeAgent*> agent) {
                std::vector<verbs::Event> changes;
                Result<T> answer = agent ? work(**agent) : Result<T>(fail(agent.error()));
                if (agent) changes = publish_follower();
                {
                  const std::lock_guard lock(mutex_);
                  counters_.answers.observe(worker::Clock::now() - begin);
                }
                reply(std::move(answer));
                return changes;
              },
              deadline};
    if (auto taken = worker_.submit(std::move(task)); !taken) {
      reply(fail(taken.error()));
      // Not directly: it ends the connection whose handler is running.
      if (!agent::is_stopping(taken.error())) asio::post(io_, [this] { start_anew(); });
    }
  }
  void submit(std::function<void(NodeAgent&)> work) {
    (void)worker_.submit(Task{[this, work = std::move(work)](Result<NodeAgent*> agent) {
                                if (!agent) return std::vector<verbs::Event>();
                                work(**agent);
                                return publish_follower();
                              },
                              TimePoint::max()});
  }

  void await_look() {
    look_.expires_after(options_.look_every);
    look_.async_wait([this](error_code cancelled) {
      if (cancelled) return;
      look_at_kubelet();
      submit(
          [this, runtime = plugin_ ? plugin_->runtime_process() : std::nullopt](NodeAgent& agent) {
            follower_->look(agent);
            group_.look(agent, runtime);
          });
      await_look();
    });
  }

  asio::io_context& io_;
  worker::Worker& worker_;
  std::unique_ptr<Follower> follower_;  ///< used only by the worker
  ConnectionOptions options_;
  RuntimeGroup group_;  ///< used only by the worker
  asio::steady_timer look_;
  asio::steady_timer unhealthy_;
  std::string runtime_;
  std::string last_error_;
  bool is_connected_ = false;
  bool is_overdue_ = false;      ///< no runtime for longer than unhealthy_after
  std::string line_;             ///< the last one sent to the service manager
  std::string kubelet_problem_;  ///< empty if there is none
  std::uint64_t connections_ = 0;
  mutable std::mutex mutex_;
  RuntimeCounters counters_;      ///< protected by mutex_
  std::optional<Plugin> plugin_;  ///< declared last: it calls this object
};

Result<std::unique_ptr<RuntimeConnection>> RuntimeConnection::start(
    asio::io_context& io, worker::Worker& worker, std::unique_ptr<Follower> follower,
    ConnectionOptions options) {
  auto link = std::make_unique<Link>(io, worker, std::move(follower), std::move(options));
  PINFOLD_TRY(link->start());
  return std::unique_ptr<RuntimeConnection>(new RuntimeConnection(std::move(link)));
}

RuntimeConnection::RuntimeConnection(std::unique_ptr<Link> link) : link_(std::move(link)) {}

RuntimeConnection::~RuntimeConnection() = default;

worker::RuntimeCounters RuntimeConnection::counters() const { return link_->counters(); }

}  // namespace pinfold::nri
