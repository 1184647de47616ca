#include "pinfold/extender/extender.hpp"

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <random>
#include <utility>

#include "pinfold/cluster/sinks.hpp"
#include "pinfold/extender/extender_metrics.hpp"
#include "pinfold/extender/schedule_calls.hpp"
#include "pinfold/web/api_watcher.hpp"

namespace pinfold::extender {
namespace {

using agent::LogLevel;
using kube::Kind;
using kube::Time;
using std::chrono::seconds;
using web::HttpAnswer;
using web::HttpCall;

/// API servers send bookmarks every minute: this is more than usual.
constexpr seconds kLongSilence(150);
/// How long a filter request waits for pods in flight to be bound; most binds are seen sooner.
constexpr std::chrono::milliseconds kWait(200);
/// How long no request waits after one has waited in vain.
constexpr seconds kRest(10);

Time steady_now() {
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

constexpr std::size_t index_of(Kind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

struct Extender::Parts {
  Parts(const ExtenderSettings& of_settings, agent::LogSink of_log)
      : settings(of_settings),
        log(std::move(of_log)),
        view({settings.ignore, settings.exporter_delay, settings.bind_time}) {}

  void watch(const kube_client::ClusterAccess& access);
  Result<void> open();
  [[nodiscard]] std::string not_ready() const;
  [[nodiscard]] seconds silence() const;
  [[nodiscard]] HttpAnswer answer_health(const HttpCall& call);
  [[nodiscard]] std::string metrics_text();
  void warn(const std::string& text) const { log(LogLevel::kWarning, text); }

  ExtenderSettings settings;
  agent::LogSink log;
  cluster::SharedView view;
  ExtenderMetrics metrics;
  Patience patience{kWait, kRest};
  CallContext context;
  std::array<std::unique_ptr<cluster::ViewSink>, kube::kKinds.size()> sinks;
  // Destroyed first: they use all of the above.
  std::array<std::unique_ptr<web::ApiWatcher>, kube::kKinds.size()> watchers;
  std::unique_ptr<web::HttpServer> server;
  std::unique_ptr<web::HttpServer> health;
};

void Extender::Parts::watch(const kube_client::ClusterAccess& access) {
  std::random_device seed;
  const auto say = [this](const std::string& text) { warn(text); };
  for (const Kind kind : kube::kKinds) {
    auto& sink = sinks[index_of(kind)];
    sink = std::make_unique<cluster::ViewSink>(kind, view, steady_now, say);
    web::ApiWatcherOptions options;
    options.access = access;
    options.seed = seed();
    options.clock = steady_now;
    options.warn = say;
    watchers[index_of(kind)] = std::make_unique<web::ApiWatcher>(kind, std::move(options), *sink);
  }
}

std::string Extender::Parts::not_ready() const {
  std::string why;
  for (const Kind kind : kube::kKinds) {
    const web::WatchStatus status = watchers[index_of(kind)]->status();
    if (status.is_synced) continue;
    if (!why.empty()) why += "; ";
    why += status.problem.empty() ? fmt::format("{}: not listed yet", to_string(kind))
                                  : status.problem;
  }
  return why;
}

seconds Extender::Parts::silence() const {
  seconds longest{0};
  for (const auto& watcher : watchers) {
    const auto age = steady_now() - watcher->status().last_contact;
    longest = std::max(longest, std::chrono::duration_cast<seconds>(age));
  }
  return longest < kLongSilence ? seconds(0) : longest;
}

std::string Extender::Parts::metrics_text() {
  metrics.set_view(view.use([](cluster::ClusterView& of) { return of.counts(); }));
  for (const Kind kind : kube::kKinds) {
    metrics.set_watch(kind, watchers[index_of(kind)]->status(), steady_now());
  }
  return prometheus::TextSerializer().Serialize(metrics.collect());
}

HttpAnswer Extender::Parts::answer_health(const HttpCall& call) {
  constexpr int kUnavailable = 503;
  constexpr int kNotFound = 404;
  constexpr const char* kText = "text/plain";
  if (call.path == "/healthz") return {200, "ok\n", kText};
  if (call.path == "/metrics") {
    return {200, metrics_text(), "text/plain; version=0.0.4; charset=utf-8"};
  }
  if (call.path != "/readyz") return {kNotFound, "expected /healthz, /readyz or /metrics\n", kText};
  if (const std::string why = not_ready(); !why.empty()) return {kUnavailable, why + "\n", kText};
  const seconds away = silence();
  if (away.count() == 0) return {200, "ok\n", kText};
  return {200, fmt::format("ok; last news of the API server {} s ago\n", away.count()), kText};
}

/// Opens both servers; they serve once the watches exist, which their answers use.
Result<void> Extender::Parts::open() {
  if (settings.address == settings.health_address && !settings.address.ends_with(":0")) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("healthAddress '{}': expected another address than 'address'",
                            settings.health_address));
  }
  context = {&view,
             &metrics,
             settings.scoring,
             steady_now,
             [this] { return not_ready(); },
             [this] { return silence(); },
             &patience};
  web::HttpServerOptions options;
  options.address = settings.address;
  options.tls = settings.tls;
  options.warn = [this](const std::string& text) { warn(text); };
  PINFOLD_LET(server, web::HttpServer::open(options, [this](const HttpCall& call) {
                return answer_call(context, call);
              }));
  options.address = settings.health_address;
  options.tls.reset();
  options.threads = 1;
  const auto answer = [this](const HttpCall& call) { return answer_health(call); };
  PINFOLD_LET_WRAP(health, web::HttpServer::open(options, answer), "healthAddress");
  return {};
}

Result<std::unique_ptr<Extender>> Extender::start(const ExtenderSettings& settings,
                                                  const kube_client::ClusterAccess& access,
                                                  agent::LogSink log) {
  std::unique_ptr<Extender> extender(
      new Extender(std::make_unique<Parts>(settings, std::move(log))));
  Parts& parts = *extender->parts_;
  PINFOLD_TRY(parts.open());
  parts.watch(access);
  parts.server->serve();
  parts.health->serve();
  return extender;
}

Extender::Extender(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Extender::~Extender() = default;

int Extender::port() const { return parts_->server->port(); }
int Extender::health_port() const { return parts_->health->port(); }
Result<void> Extender::renew_certificates() { return parts_->server->renew_certificates(); }

}  // namespace pinfold::extender
