#include "serve/serve.hpp"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "agent/command_line.hpp"
#include "agent/node_source.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/forecaster/forecaster.hpp"
#include "pinfold/process/notify.hpp"
#include "pinfold/server/server.hpp"
#include "pinfold/settings/log.hpp"
#include "pinfold/verbs/reconfigure.hpp"
#include "pinfold/worker/worker.hpp"
#include "serve/serve_check.hpp"
#include "serve/serve_settings.hpp"
#ifdef PINFOLD_GRPC
#include "pinfold/process/interfaces.hpp"
#endif
#ifdef PINFOLD_PUBLISHER
#include <random>

#include "pinfold/publisher/publisher.hpp"
#endif
#ifdef PINFOLD_NRI
#include "pinfold/nri_plugin/connection.hpp"
#include "pinfold/nri_plugin/make_follower.hpp"
#include "pinfold/nri_plugin/premises.hpp"
#endif

namespace pinfold::tools {
namespace {

namespace asio = boost::asio;
using agent::LogLevel;
using settings::Settings;

/// Returns a variable of the environment, which no thread changes; "" if it is not set.
std::string environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

/// Writes messages of at least the configured level to standard error.
class Log {
 public:
  explicit Log(LogLevel least)
      : least_(least), to_journal_(settings::is_journal(environment("JOURNAL_STREAM"))) {}
  void operator()(LogLevel level, std::string_view message) const {
    if (level >= least_) settings::write_log(level, message, to_journal_);
  }
  void set(LogLevel least) { least_ = least; }

 private:
  std::atomic<LogLevel> least_;
  bool to_journal_;
};

#ifdef PINFOLD_GRPC
using Interfaces = std::unique_ptr<process::Interfaces>;
#else
using Interfaces = std::optional<std::monostate>;
#endif

#ifdef PINFOLD_NRI
using Runtime = std::unique_ptr<nri::RuntimeConnection>;
using Follower = std::unique_ptr<nri::Follower>;
#else
using Runtime = std::optional<std::monostate>;
using Follower = std::optional<std::monostate>;
#endif

#ifdef PINFOLD_PUBLISHER
using Publisher = std::unique_ptr<publisher::Publisher>;
#else
using Publisher = std::optional<std::monostate>;
#endif

using Forecaster = std::unique_ptr<forecaster::Forecaster>;

/// The parts of a running service.
class Service {
 public:
  Service(Settings settings, const ServeOptions& options)
      : settings_(std::move(settings)),
        options_(options),
        log_(settings_.log_level),
        manager_(environment("NOTIFY_SOCKET")) {}

  /// Runs until a signal ends it.
  Result<ExitStatus> run();

 private:
  [[nodiscard]] AgentArguments node_options();
  [[nodiscard]] Result<agent::NodeAgent> open();
  /// Serves until a signal ends it or the configuration of the node changes.
  Result<void> serve_node(const socket::Listener& listener);
  void finish_connections();
  /// Returns true if the configuration of the node has changed and its pods can stay, or if CPUs
  /// went offline or came online. Errors: also if the state does not fit the current machine.
  [[nodiscard]] Result<bool> must_reconfigure();
  [[nodiscard]] worker::WorkerOptions worker_options();
  /// Makes the follower of a container runtime; an empty one without the section `nri`.
  [[nodiscard]] Result<Follower> make_follower(agent::NodeAgent& agent);
  [[nodiscard]] Result<Runtime> follow(worker::Worker& worker, Follower follower);
  /// Publishes to the API server; does nothing without the section `publish`.
  [[nodiscard]] Result<Publisher> publish(worker::Worker& worker);
  /// Forecasts when NUMA nodes are out of memory; does nothing if that is off, or if a file
  /// describes another machine.
  [[nodiscard]] Forecaster forecast_memory(const worker::Worker& worker);
  [[nodiscard]] Result<Interfaces> serve_interfaces(worker::Worker& worker, const Runtime& runtime,
                                                    const Publisher& publisher,
                                                    const Forecaster& forecaster);
  /// Returns the report for `pinfold serve --check` and `pinfold status`.
  [[nodiscard]] static verbs::ServiceReport report(const worker::Worker& worker,
                                                   const Runtime& runtime,
                                                   const Interfaces& interfaces);
  void wait_for_end();
  void wait_for_reload();
  void reload();
  /// Ends this round of serve_node(). The next one reads the configuration of the node again.
  void start_again();
  /// Starts again after a request has reconfigured the node.
  void follow_reconfiguration();

  Settings settings_;
  const ServeOptions& options_;
  Log log_;
  process::Notifier manager_;
  asio::io_context io_;
  asio::signal_set end_{io_, SIGTERM, SIGINT};
  asio::signal_set hangup_{io_, SIGHUP};
  std::optional<socket::Hello> hello_;
  std::optional<server::Server> server_;
  worker::Worker* worker_ = nullptr;
  std::function<verbs::ServiceReport()> report_;  ///< of the current round
  bool goes_on_ = false;                          ///< another round follows
  bool is_ending_ = false;                        ///< ended by a signal
};

AgentArguments Service::node_options() {
  AgentArguments options = agent_arguments_of(
      settings_, options_.insecure_state_dir,
      [this](LogLevel level, std::string_view message) { log_(level, message); });
  if (!options_.profile) options.profile_source = agent::ProfileSource::kConfiguration;
  return options;
}

Result<agent::NodeAgent> Service::open() {
  const AgentArguments options = node_options();
  PINFOLD_LET(auto node, read_config(options));
  PINFOLD_LET(auto machine, read_machine(options));
  agent::AgentOptions opened = agent_options_of(options, node.profile_source);
  // The runtime reports when a container is removed for good.
  if (settings_.nri) opened.abandoned = agent::Abandoned::kDisown;
  auto agent = agent::open_and_reconfigure(machine, std::move(node.config), std::move(opened));
  if (!agent) return fail(with_own_advice(options, std::move(agent).error()));
  std::error_code failed;
  const auto directory = std::filesystem::canonical(settings_.state_dir, failed);
  hello_.emplace(socket::Hello{PINFOLD_VERSION, directory.string(), agent->node().config(),
                               agent->options().profile_source, std::move(machine),
                               agent->enforces() ? agent->enforced()->root() : ""});
  return agent;
}

worker::WorkerOptions Service::worker_options() {
  worker::WorkerOptions options;
  options.reconcile = watch_times(settings_);
  options.pages = page_moves(settings_);
  options.log = [this](LogLevel level, std::string_view message) { log_(level, message); };
  options.source = source_of_service(node_options());
  options.replaced = [this] { asio::post(io_, [this] { follow_reconfiguration(); }); };
  const auto watchdog =
      process::watchdog_time(environment("WATCHDOG_USEC"), environment("WATCHDOG_PID"));
  if (watchdog) {
    constexpr int kTimes = 3;
    options.alive_every = std::chrono::ceil<std::chrono::milliseconds>(*watchdog / kTimes);
    // Sent by the thread of the connections, so that both threads must make progress.
    options.alive = [this] { asio::post(io_, [this] { manager_.send("WATCHDOG=1"); }); };
  }
  return options;
}

Result<Follower> Service::make_follower([[maybe_unused]] agent::NodeAgent& agent) {
  if (!settings_.nri) return Follower();
#ifdef PINFOLD_NRI
  if (!environment("NRI_PLUGIN_SOCKET").empty()) {
    return fail(ErrorCode::kUnsupported,
                "NRI_PLUGIN_SOCKET is set, so the runtime started this plugin. containerd 1.7 "
                "neither reports running pods to such a plugin nor restarts it: run this as a "
                "service");
  }
  if (settings_.nri->mode == settings::NriMode::kEnforce) {
    PINFOLD_TRY(nri::check_kubelet(settings_.nri->kubelet_root));
  }
  nri::FollowerOptions options;
  options.pod_level = settings_.nri->pod_level;
  if (agent.enforces()) {
    PINFOLD_LET(options.mount, nri::cgroup_mount_of(agent.enforced()->root()));
  }
  options.handlers_without_groups = settings_.nri->handlers_without_groups;
  options.assigned_for = settings_.nri->assigned_for;
  for (const std::string& file :
       {settings_.nri->kubelet_root + "/config.yaml",
        settings_.config.empty() ? settings_.state_dir + "/config.yaml" : settings_.config}) {
    options.kubepods.merge(nri::kubepods_of_configuration(options.mount, file));
  }
  options.log = [this](LogLevel level, std::string_view message) { log_(level, message); };
  return nri::make_follower(settings_.nri->mode, agent, std::move(options));
#else
  return fail(ErrorCode::kUnsupported, "nri: this program was built without it (PINFOLD_NRI)");
#endif
}

Result<Runtime> Service::follow([[maybe_unused]] worker::Worker& worker,
                                [[maybe_unused]] Follower follower) {
#ifdef PINFOLD_NRI
  if (follower == nullptr) return Runtime();
  nri::ConnectionOptions options;
  options.settings = *settings_.nri;
  options.log = [this](LogLevel level, std::string_view message) { log_(level, message); };
  options.status = [this](const std::string& line) {
    manager_.send(fmt::format("STATUS=Serves {}; {}", hello_->state_dir, line));
  };
  return nri::RuntimeConnection::start(io_, worker, std::move(follower), std::move(options));
#else
  return Runtime();
#endif
}

Result<Publisher> Service::publish([[maybe_unused]] worker::Worker& worker) {
  if (!settings_.publish) return Publisher();
#ifdef PINFOLD_PUBLISHER
  publisher::PublisherOptions options;
  options.settings = *settings_.publish;
  options.settings.node_name =
      publisher::node_name(options.settings, environment, worker.node().machine().name());
  PINFOLD_LET_WRAP(options.access,
                   kube_client::read_access(options.settings.kubeconfig, environment), "publish");
  options.seed = std::random_device()();
  options.log = [this](LogLevel level, std::string_view message) { log_(level, message); };
  log_(LogLevel::kInfo, fmt::format("publishes node '{}' to '{}'", options.settings.node_name,
                                    options.access.server));
  return std::make_unique<publisher::Publisher>(std::move(options), worker);
#else
  return fail(ErrorCode::kUnsupported,
              "publish: this program was built without it (PINFOLD_EXTENDER)");
#endif
}

Forecaster Service::forecast_memory(const worker::Worker& worker) {
  if (!settings_.memory_forecast || !settings_.machine.empty()) return nullptr;
  forecaster::ForecasterOptions options;
  options.cgroup_root = hello_->cgroup_root;
  options.log = [this](LogLevel level, std::string_view message) { log_(level, message); };
  return std::make_unique<forecaster::Forecaster>(std::move(options), worker);
}

Result<Interfaces> Service::serve_interfaces([[maybe_unused]] worker::Worker& worker,
                                             [[maybe_unused]] const Runtime& runtime,
                                             [[maybe_unused]] const Publisher& publisher,
                                             [[maybe_unused]] const Forecaster& forecaster) {
#ifdef PINFOLD_GRPC
  process::InterfaceSettings interfaces{
      settings_.grpc_socket, settings::pod_resources_places(settings_), settings_.metrics_address};
#ifdef PINFOLD_NRI
  if (runtime != nullptr) {
    interfaces.runtime = [connection = runtime.get()] { return connection->counters(); };
  }
#endif
#ifdef PINFOLD_PUBLISHER
  if (publisher != nullptr) {
    interfaces.published = [of = publisher.get()] { return of->counters(); };
  }
#endif
  if (forecaster != nullptr) {
    interfaces.memory = [of = forecaster.get()] { return of->outlook(); };
  }
  return process::Interfaces::start(
      interfaces, worker,
      [this](LogLevel level, std::string_view message) { log_(level, message); });
#else
  if (settings_.grpc_socket.empty() && settings_.pod_resources_socket.empty() &&
      settings_.metrics_address.empty()) {
    return Interfaces();
  }
  return fail(ErrorCode::kUnsupported,
              "grpcSocket, podResourcesSocket, metricsAddress: this program was built without them "
              "(PINFOLD_GRPC)");
#endif
}

verbs::ServiceReport Service::report(const worker::Worker& worker,
                                     [[maybe_unused]] const Runtime& runtime,
                                     [[maybe_unused]] const Interfaces& interfaces) {
  verbs::ServiceReport report;
  report.busy = worker.busy_for();
#ifdef PINFOLD_NRI
  if (runtime != nullptr) report.is_following = runtime->counters().is_healthy;
#endif
#ifdef PINFOLD_GRPC
  report.pod_resources_socket = interfaces->pod_resources().socket;
  report.pod_resources_reason = interfaces->pod_resources().reason;
#endif
  return report;
}

Result<ExitStatus> Service::run() {
  // Listen first, so that a command that finds the directory locked finds the service and waits.
  PINFOLD_LET(const auto listener, socket::Listener::open(settings_.socket));
  wait_for_end();
  wait_for_reload();
  do {
    goes_on_ = false;
    PINFOLD_TRY(serve_node(listener));
  } while (goes_on_);
  log_(LogLevel::kInfo, "has stopped");
  return kYes;
}

Result<void> Service::serve_node(const socket::Listener& listener) {
  PINFOLD_LET(auto agent, open());
  PINFOLD_LET(auto follower, make_follower(agent));
  worker::Worker worker(std::move(agent), worker_options());
  worker_ = &worker;
  server_.emplace(
      io_, listener, *hello_,
      [this, &worker](worker::Request request) -> Result<void> {
        const bool reads_service = std::holds_alternative<verbs::ReadService>(request.action);
        if (!reads_service || !report_) return worker.submit(std::move(request));
        request.done(verbs::Answer(report_()));
        return {};
      },
      server::ServerOptions{});
  PINFOLD_LET(auto runtime, follow(worker, std::move(follower)));
  PINFOLD_LET(auto publisher, publish(worker));
  Forecaster forecaster = forecast_memory(worker);
  PINFOLD_LET(auto interfaces, serve_interfaces(worker, runtime, publisher, forecaster));
  report_ = [&] { return report(worker, runtime, interfaces); };
  std::thread thread([&worker] { worker.run(); });
  log_(LogLevel::kInfo, fmt::format("serves state directory '{}' at socket '{}', {}",
                                    hello_->state_dir, listener.path(),
                                    hello_->cgroup_root.empty()
                                        ? "without cgroups"
                                        : fmt::format("cgroups below '{}'", hello_->cgroup_root)));
  manager_.send(fmt::format("READY=1\nSTATUS=Serves {}", hello_->state_dir));
  io_.restart();
  io_.run();
  if (!goes_on_) manager_.send("STOPPING=1");
  worker.stop();
  thread.join();
  finish_connections();
  report_ = nullptr;
  interfaces.reset();
  forecaster.reset();
  publisher.reset();
  runtime.reset();
  server_.reset();
  worker_ = nullptr;
  return {};
}

/// Waits a moment for the last answers to be sent.
void Service::finish_connections() {
  constexpr std::chrono::seconds kLastAnswers(2);
  io_.restart();
  const auto end = std::chrono::steady_clock::now() + kLastAnswers;
  while (server_->connections() > 0 && io_.run_one_until(end) > 0) {
  }
}

void Service::wait_for_end() {
  end_.async_wait([this](boost::system::error_code cancelled, int signal) {
    if (cancelled) return;
    log_(LogLevel::kInfo, fmt::format("stops: signal {}", signal));
    is_ending_ = true;
    goes_on_ = false;
    hangup_.cancel();
    server_->stop();
    io_.stop();
  });
}

void Service::wait_for_reload() {
  hangup_.async_wait([this](boost::system::error_code cancelled, int /*signal*/) {
    if (cancelled) return;
    manager_.send(process::reloading_message());
    wait_for_reload();
    reload();
    if (!goes_on_) manager_.send("READY=1");
  });
}

void Service::reload() {
  const auto settings = read_settings(options_);
  if (!settings) {
    log_(LogLevel::kError, "not reloaded: " + settings.error().message);
    return;
  }
  for (const std::string& name : settings::needs_restart(settings_, *settings)) {
    log_(LogLevel::kWarning, fmt::format("reload: '{}' has changed: that needs a restart", name));
  }
  settings_.reconcile_interval = settings->reconcile_interval;
  settings_.move_pages = settings->move_pages;
  settings_.log_level = settings->log_level;
  worker_->set_reconcile(watch_times(settings_), page_moves(settings_));
  const auto other_node = must_reconfigure();
  if (!other_node) {
    log_(LogLevel::kError, "not reconfigured: " + other_node.error().message);
  } else if (*other_node) {
    start_again();
  }
  log_(LogLevel::kInfo, "reloaded");
  log_.set(settings_.log_level);
}

void Service::start_again() {
  log_(LogLevel::kInfo, "now uses another configuration of the node");
  goes_on_ = true;
  server_->stop();
  io_.stop();
}

void Service::follow_reconfiguration() {
  // May run late, after a signal has ended the service or this round.
  if (is_ending_ || worker_ == nullptr || !worker_->is_replaced()) return;
  manager_.send(process::reloading_message());
  start_again();
}

Result<bool> Service::must_reconfigure() {
  const AgentArguments options = node_options();
  PINFOLD_LET(auto node, read_config(options));
  node.config = agent::with_profile_of(hello_->config, std::move(node.config), node.profile_source);
  PINFOLD_LET(const auto machine, read_machine(options));
  const bool has_same_config = node.config == hello_->config;
  if (has_same_config && machine == hello_->machine) return false;
  agent::AgentOptions reader = agent_options_of(options, agent::ProfileSource::kConfiguration);
  reader.is_query = true;
  reader.enforce = false;
  PINFOLD_LET(const auto view, agent::open_agent(machine, hello_->config, reader));
  if (has_same_config) return true;  // CPUs went offline or came online
  PINFOLD_LET(const auto to, agent::make_node(view.node().machine(), node.config));
  PINFOLD_LET(const auto planned, agent::plan_reconfiguration(view, to, PlanOptions{}));
  PINFOLD_TRY(agent::check_all_stay(planned));
  return true;
}

}  // namespace

Result<ExitStatus> serve(const ServeOptions& options) {
  PINFOLD_LET(auto settings, read_settings(options));
  if (options.check) return check_service(settings, *options.check);
  Service service(std::move(settings), options);
  return service.run();
}

}  // namespace pinfold::tools
