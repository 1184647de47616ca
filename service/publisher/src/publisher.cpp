#include "pinfold/publisher/publisher.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "pinfold/kube/api_status.hpp"
#include "pinfold/kube/kind.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::publisher {
namespace {

using agent::LogLevel;
using kube::Time;
using nlohmann::json;
using publish::Document;
using publish::PublishedKind;

/// How often the topology is written again, in case it was deleted.
constexpr std::chrono::minutes kRefresh(5);
/// The most bytes of one answer.
constexpr std::size_t kMostBody = std::size_t{16} << 20U;
/// Of a node only the metadata is read.
constexpr std::string_view kNodeAccept =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
/// Events are not read, only noticed, so none are kept.
constexpr std::size_t kNoEvents = 0;

Time steady_now() {
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

/// Without this a TLS connection that the API server ends would end the process.
void block_broken_pipes() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

struct ApiAnswer {
  int status = 0;
  std::string body;
};

kube_client::ApiClient::Call call_of(const Document& document) {
  kube_client::ApiClient::Call call;
  call.method = "PATCH";
  call.target = document.target;
  call.content_type = document.kind == PublishedKind::kTopology ? "application/apply-patch+yaml"
                                                                : "application/merge-patch+json";
  call.body = document.patch;
  return call;
}

Result<std::string> uid_of(const ApiAnswer& answer) {
  PINFOLD_LET(const auto node, kube::parse_json(answer.body, "answer"));
  const json* const metadata = node.is_object() ? member(node, "metadata") : nullptr;
  const json* const uid =
      metadata != nullptr && metadata->is_object() ? member(*metadata, "uid") : nullptr;
  if (uid != nullptr && uid->is_string()) return uid->get<std::string>();
  return fail_field("metadata.uid", uid == nullptr ? json() : *uid, "expected a string");
}

std::string describe_node_failure(const std::string& name, const ApiAnswer& answer) {
  if (answer.status == kube::kNotFound) {
    return fmt::format("nodes '{}': not found; expected the name of this node in publish.nodeName",
                       printable(name));
  }
  return fmt::format("nodes '{}': {}", printable(name),
                     kube::describe_status(answer.status, answer.body, "'get' of it"));
}

}  // namespace

/// Only `stop`, `bell` and `counters` are used by other threads.
struct Publisher::Parts {
  /// What wakes the publisher's thread. The worker may still hold it when the publisher is gone.
  struct Bell {
    void ring() {
      {
        const std::lock_guard lock(mutex);
        has_changed = true;
      }
      news.notify_all();
    }

    std::mutex mutex;
    std::condition_variable news;
    std::atomic<bool> has_changed{true};
  };

  Parts(PublisherOptions of_options, worker::Worker& of_worker)
      : options(std::move(of_options)),
        worker(of_worker),
        client(options.access, options.times),
        outbox(options.outbox, options.seed),
        backoff(options.outbox.least, options.outbox.most, options.seed) {}

  void run() {
    block_broken_pipes();
    while (wait()) {
      if (is_time_to_look()) {
        look();
      } else if (const Document* const document = outbox.next()) {
        write(*document);
      }
      const std::lock_guard lock(bell->mutex);
      counters = outbox.counters();
      counters.failures += node_failures;
    }
  }

  /// Returns when there is work; false if the publisher ends.
  bool wait();
  [[nodiscard]] bool is_time_to_look() const;
  void look();
  [[nodiscard]] bool renew_identity();
  [[nodiscard]] Result<std::string> ask_for_node();
  void write(const Document& document);
  [[nodiscard]] Result<ApiAnswer> ask(const kube_client::ApiClient::Call& call);
  void note(const std::string& problem);

  PublisherOptions options;
  worker::Worker& worker;
  kube_client::ApiClient client;
  publish::Outbox outbox;
  kube::Backoff backoff;  ///< of looks
  std::uint64_t node_failures = 0;
  publish::NodeIdentity identity;
  Time look_at{0};                 ///< the next look at the node is not before
  Time refresh_at{0};              ///< of the identity, and of what was written
  std::set<std::string> problems;  ///< that were logged
  std::atomic<bool> stop{false};
  std::shared_ptr<Bell> bell = std::make_shared<Bell>();
  publish::PublishCounters counters;  ///< protected by the mutex of the bell
  std::shared_ptr<worker::Subscription> subscription;
  std::thread thread;
};

bool Publisher::Parts::is_time_to_look() const {
  return steady_now() >= look_at && (bell->has_changed || steady_now() >= refresh_at);
}

bool Publisher::Parts::wait() {
  std::unique_lock lock(bell->mutex);
  while (!stop) {
    Time due = bell->has_changed ? look_at : std::max(look_at, refresh_at);
    if (outbox.next() != nullptr) due = std::min(due, outbox.due());
    if (steady_now() >= due) return true;
    bell->news.wait_for(lock, due - steady_now());
  }
  return false;
}

void Publisher::Parts::look() {
  bell->has_changed = false;
  look_at = steady_now() + options.settings.interval;
  if (steady_now() >= refresh_at && !renew_identity()) {
    bell->has_changed = true;
    look_at = steady_now() + backoff.next();
    return;
  }
  backoff.reset();
  const auto placements =
      options.settings.placements ? publish::Placements::kOn : publish::Placements::kOff;
  outbox.set(
      publish::documents_of(worker.node(), worker.snapshot()->state.node, identity, placements));
}

/// Returns false if the API server does not know the node, or does not answer.
bool Publisher::Parts::renew_identity() {
  auto uid = ask_for_node();
  if (!uid) {
    ++node_failures;
    note(uid.error().message);
    return false;
  }
  identity = {options.settings.node_name, *std::move(uid)};
  refresh_at = steady_now() + kRefresh;
  problems.clear();
  outbox.retry();
  return true;
}

Result<std::string> Publisher::Parts::ask_for_node() {
  kube_client::ApiClient::Call call;
  const std::string& name = options.settings.node_name;
  call.target = fmt::format("{}/{}", path_of(kube::Kind::kNodes), name);
  call.accept = kNodeAccept;
  PINFOLD_LET(const auto answer, ask(call));
  if (answer.status != kube::kOk) {
    return fail(ErrorCode::kIo, describe_node_failure(name, answer));
  }
  PINFOLD_LET_WRAP(auto uid, uid_of(answer), fmt::format("nodes '{}'", printable(name)));
  return uid;
}

void Publisher::Parts::write(const Document& document) {
  const auto answer = ask(call_of(document));
  if (!answer) {
    outbox.failed(steady_now());
    return note(answer.error().message);
  }
  note(outbox.answered(document, answer->status, answer->body, steady_now()));
}

Result<ApiAnswer> Publisher::Parts::ask(const kube_client::ApiClient::Call& call) {
  ApiAnswer answer;
  const auto take = [&](int, std::string_view bytes) {
    answer.body += bytes;
    return answer.body.size() <= kMostBody;
  };
  PINFOLD_LET(answer.status, client.send(call, take, stop));
  return answer;
}

/// Logs a problem, once between two refreshes.
void Publisher::Parts::note(const std::string& problem) {
  if (problem.empty() || stop || !options.log || !problems.insert(problem).second) return;
  options.log(LogLevel::kWarning, "not published: " + problem);
}

Publisher::Publisher(PublisherOptions options, worker::Worker& worker)
    : parts_(std::make_unique<Parts>(std::move(options), worker)) {
  parts_->subscription = worker.subscribe(kNoEvents, [bell = parts_->bell] { bell->ring(); });
  parts_->thread = std::thread([parts = parts_.get()] { parts->run(); });
}

Publisher::~Publisher() {
  {
    const std::lock_guard lock(parts_->bell->mutex);
    parts_->stop = true;
  }
  parts_->bell->news.notify_all();
  parts_->thread.join();
}

publish::PublishCounters Publisher::counters() const {
  const std::lock_guard lock(parts_->bell->mutex);
  return parts_->counters;
}

std::string node_name(const settings::PublishSettings& settings,
                      const std::function<std::string(const char*)>& variable,
                      const std::string& machine) {
  if (!settings.node_name.empty()) return settings.node_name;
  const std::string named = variable("NODE_NAME");
  return named.empty() ? machine : named;
}

}  // namespace pinfold::publisher
