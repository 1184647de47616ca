#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "call.hpp"
#include "handles.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/text/document.hpp"

/// The functions of the C interface that take a node.
namespace pinfold::capi {
namespace {

using agent::NodeAgent;

constexpr std::chrono::milliseconds kLockTimeout{30'000};
/// Sizes of the structures when they were introduced.
constexpr std::size_t kSmallestOptions = sizeof(pinfold_node_options);
constexpr std::size_t kSmallestLog = sizeof(pinfold_log_sink);
constexpr std::size_t kSmallestProvider = sizeof(pinfold_hint_provider);
constexpr std::size_t kSmallestWriter = sizeof(pinfold_cgroup_writer);

Result<void> need(const void* pointer, const char* what) {
  if (pointer != nullptr) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} is NULL", what));
}

std::string text_or(const char* text, const char* instead) {
  return text == nullptr ? instead : text;
}

// The lock of a state directory keeps other processes out, not other threads, and libcgroup has
// tables for the whole process.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::mutex one_at_a_time;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local bool is_in_call = false;

/// The right to use nodes, for as long as it lives.
class Turn {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Turn>> take() {
    if (is_in_call) {
      return fail(ErrorCode::kBusy, "called from a callback: the node is in use by its caller");
    }
    return std::unique_ptr<Turn>(new Turn);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { is_in_call = false; }

 private:
  Turn() : lock_(one_at_a_time) { is_in_call = true; }
  std::unique_lock<std::mutex> lock_;
};

/// The kernel's list of CPUs that are online; "" if it does not tell.
std::string online_cpus() {
  std::ifstream in("/sys/devices/system/cpu/online");
  std::string list;
  std::getline(in, list);
  return list;
}

/// CPUs come and go while a node is open; then the machine is not the one it was.
Result<void> look_again(pinfold_node& node) {
  if (node.online.empty()) return {};
  std::string online = online_cpus();
  if (online == node.online) return {};
  PINFOLD_LET(node.machine, discover(SysTree{}, "node"));
  node.online = std::move(online);
  return {};
}

Result<NodeAgent> open_agent(pinfold_node& node) {
  PINFOLD_TRY(look_again(node));
  Node::Providers providers;
  for (const pinfold_hint_provider& given : node.providers) {
    providers.push_back(make_provider(given));
  }
  return agent::open_agent(node.machine, node.config, node.place, std::move(providers));
}

/// Runs body(NodeAgent&) over a node; the text of a call begins with `intent`.
template <class Body>
pinfold_code with_agent(pinfold_node* node, const char* intent, char** error, Body&& body) {
  return call(error, [&]() -> Result<pinfold_code> {
    const auto run = [&]() -> Result<pinfold_code> {
      PINFOLD_TRY(need(node, "node"));
      PINFOLD_TRY(Turn::take());
      PINFOLD_LET(auto agent, open_agent(*node));
      return body(agent);
    };
    PINFOLD_LET_WRAP(auto done, run(), intent);
    return done;
  });
}

/// As with_agent, for body(NodeAgent&, uid) about an active pod.
template <class Body>
pinfold_code with_pod(pinfold_node* node, const char* pod, const char* intent, char** error,
                      Body&& body) {
  return with_agent(node, intent, error, [&](NodeAgent& agent) -> Result<pinfold_code> {
    PINFOLD_TRY(need(pod, "pod"));
    PINFOLD_LET(auto uid, agent::find_pod_uid(agent, pod));
    return body(agent, uid);
  });
}

Result<pinfold_code> not_enforced(const std::optional<Error>& failure, char** error) {
  if (!failure) return PINFOLD_OK;
  if (error != nullptr) {
    *error = copy_text("decided and stored, but the kernel does not have it: " + failure->message);
  }
  return PINFOLD_NOT_ENFORCED;
}

Result<pinfold_code> rejected(const Rejection& why, char** error) {
  if (error != nullptr) *error = copy_text(why.reason + ": " + why.message);
  return PINFOLD_REJECTED;
}

Result<pinfold_code> give(char** out, const std::string& text, pinfold_code code = PINFOLD_OK) {
  *out = copy_text(text);
  return *out == nullptr ? PINFOLD_NO_MEMORY : code;
}

Result<PodSpec> read_pod(const char* pod) {
  PINFOLD_TRY(need(pod, "pod"));
  auto spec = parse_pod(pod);
  if (spec) apply_defaults(*spec);
  return spec;
}

Result<Machine> read_machine(const char* text) {
  if (text == nullptr) return discover(SysTree{}, "node");
  PINFOLD_LET_WRAP(auto document, parse_document(text), "machine");
  PINFOLD_LET_WRAP(auto machine, Machine::from_json(document), "machine");
  return machine;
}

Result<Config> read_configuration(const pinfold_node_options& options, const std::string& state_dir,
                                  const agent::LogSink& log) {
  PINFOLD_LET_WRAP(auto parsed,
                   options.config != nullptr
                       ? parse_config(options.config)
                       : agent::read_config(state_dir, text_or(options.config_file, "")),
                   "configuration");
  for (const std::string& warning : parsed.warnings) {
    if (log) log(agent::LogLevel::kWarning, "configuration: " + warning);
  }
  return std::move(parsed.config);
}

Result<void> read_callbacks(const pinfold_node_options& options, pinfold_node& node) {
  if (options.log != nullptr) {
    PINFOLD_LET(auto sink, read_struct(options.log, kSmallestLog, "pinfold_log_sink"));
    if (sink.log != nullptr) node.place.log = make_log(sink);
  }
  if (options.writer != nullptr) {
    PINFOLD_LET(auto writer, read_struct(options.writer, kSmallestWriter, "pinfold_cgroup_writer"));
    const bool is_whole = writer.make_group != nullptr && writer.remove_group != nullptr &&
                          writer.write != nullptr && writer.read != nullptr &&
                          writer.children != nullptr;
    if (writer.version < 0 || writer.version > 2 || (writer.version != 0 && !is_whole)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("cgroup writer: version {}: expected 0, or 1 or 2 with all callbacks",
                              writer.version));
    }
    node.place.open_cgroups = make_opener(writer);
  }
  for (std::size_t i = 0; i < options.provider_count; ++i) {
    PINFOLD_LET(auto provider,
                read_struct(options.providers[i], kSmallestProvider, "pinfold_hint_provider"));
    if (provider.name == nullptr || provider.hints == nullptr || provider.allocate == nullptr ||
        provider.release == nullptr) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("hint provider {}: expected a name and all callbacks", i));
    }
    node.providers.push_back(provider);
  }
  return {};
}

Result<std::unique_ptr<pinfold_node>> open_node(const pinfold_node_options* given) {
  PINFOLD_LET(auto options, read_struct(given, kSmallestOptions, "pinfold_node_options"));
  if ((options.flags & ~std::uint32_t{PINFOLD_NO_ENFORCE}) != 0) {
    return fail(ErrorCode::kUnsupported, fmt::format("flags {:#x}: unknown", options.flags));
  }
  agent::AgentPlace place;
  place.state_dir = text_or(options.state_dir, place.state_dir.c_str());
  place.cgroup_root = text_or(options.cgroup_root, "");
  place.enforces = (options.flags & PINFOLD_NO_ENFORCE) == 0;
  place.lock_timeout = options.lock_timeout_ms == 0
                           ? kLockTimeout
                           : std::chrono::milliseconds(options.lock_timeout_ms);
  std::string online = options.machine == nullptr ? online_cpus() : "";
  PINFOLD_LET(auto machine, read_machine(options.machine));
  auto node = std::make_unique<pinfold_node>(
      pinfold_node{std::move(machine), std::move(online), {}, std::move(place), {}});
  PINFOLD_TRY(read_callbacks(options, *node));
  PINFOLD_LET(node->config, read_configuration(options, node->place.state_dir, node->place.log));
  PINFOLD_TRY(Turn::take());
  auto agent = open_agent(*node);  // once, so that what is wrong is told now
  if (!agent) return fail(std::move(agent).error());
  if (agent->enforces() && node->place.log) {
    for (const std::string& warning : agent->cgroups()->warnings()) {
      node->place.log(agent::LogLevel::kWarning, warning);
    }
  }
  return node;
}

}  // namespace
}  // namespace pinfold::capi

using namespace pinfold;  // NOLINT(google-build-using-namespace): C functions have no namespace
using namespace pinfold::capi;  // NOLINT(google-build-using-namespace)
using agent::RunningProcesses;

pinfold_code pinfold_node_open(const pinfold_node_options* options, pinfold_node** node,
                               char** error) {
  return call(error, [&]() -> Result<pinfold_code> {
    auto given = need(node, "node");
    if (given) given = need(options, "options");
    if (!given) return fail(std::move(given).error().wrap("open node"));
    PINFOLD_LET_WRAP(auto opened, open_node(options), "open node");
    *node = opened.release();
    return PINFOLD_OK;
  });
}

void pinfold_node_close(pinfold_node* node) { delete node; }

pinfold_code pinfold_node_status(pinfold_node* node, char** json, char** error) {
  return with_agent(node, "status", error, [&](NodeAgent& agent) -> Result<pinfold_code> {
    PINFOLD_TRY(need(json, "json"));
    PINFOLD_LET(auto view, agent::view_node(agent));
    return give(json, to_json(view, agent).dump());
  });
}

pinfold_code pinfold_node_reconcile(pinfold_node* node, char** json, char** error) {
  return with_agent(node, "reconcile", error, [&](NodeAgent& agent) -> Result<pinfold_code> {
    PINFOLD_TRY(need(json, "json"));
    auto report = agent.reconcile();
    if (!report) return fail(std::move(report).error());
    if (!report->remaining.empty() && error != nullptr) {
      *error = copy_text("reconcile: remaining: " + report->remaining.front());
    }
    return give(json, to_json(*report).dump(),
                report->remaining.empty() ? PINFOLD_OK : PINFOLD_NOT_ENFORCED);
  });
}

pinfold_code pinfold_pod_explain(pinfold_node* node, const char* pod, pinfold_pod** answer,
                                 char** error) {
  return with_agent(node, "explain pod", error, [&](NodeAgent& agent) -> Result<pinfold_code> {
    PINFOLD_TRY(need(answer, "answer"));
    PINFOLD_LET(auto spec, read_pod(pod));
    Trace trace;
    Decision decision = decide(agent.node(), agent.state().node, spec, &trace);
    auto* const no = std::get_if<Rejected>(&decision);
    if (no != nullptr) {
      *answer = make_answer(agent, agent.state(), spec, no->why, trace).release();
      return rejected(no->why, error);
    }
    agent::AgentState next;
    next.node = std::move(std::get<Admitted>(decision).next);
    *answer = make_answer(agent, next, spec, std::nullopt, trace).release();
    return PINFOLD_OK;
  });
}

pinfold_code pinfold_pod_admit(pinfold_node* node, const char* pod, pinfold_pod** answer,
                               char** error) {
  return with_agent(node, "admit pod", error, [&](NodeAgent& agent) -> Result<pinfold_code> {
    PINFOLD_TRY(need(answer, "answer"));
    PINFOLD_LET(auto spec, read_pod(pod));
    PINFOLD_LET(auto outcome, agent.admit(spec));
    *answer = make_answer(agent, agent.state(), spec, outcome.rejection, {}).release();
    if (outcome.rejection) return rejected(*outcome.rejection, error);
    return not_enforced(outcome.not_enforced, error);
  });
}

pinfold_code pinfold_pod_get(pinfold_node* node, const char* pod, pinfold_pod** answer,
                             char** error) {
  return with_pod(node, pod, "get pod", error,
                  [&](NodeAgent& agent, const std::string& uid) -> Result<pinfold_code> {
                    PINFOLD_TRY(need(answer, "answer"));
                    const PodSpec& spec = agent.state().node.find(uid)->spec;
                    *answer = make_answer(agent, agent.state(), spec, std::nullopt, {}).release();
                    return PINFOLD_OK;
                  });
}

namespace {

Result<RunningProcesses> read_flags(std::uint32_t flags) {
  if ((flags & ~std::uint32_t{PINFOLD_KILL}) != 0) {
    return fail(ErrorCode::kUnsupported, fmt::format("flags {:#x}: unknown", flags));
  }
  return flags == 0 ? RunningProcesses::kRefuse : RunningProcesses::kKill;
}

}  // namespace

pinfold_code pinfold_pod_release(pinfold_node* node, const char* pod, uint32_t flags,
                                 char** error) {
  return with_pod(node, pod, "release pod", error,
                  [&](NodeAgent& agent, const std::string& uid) -> Result<pinfold_code> {
                    PINFOLD_LET(auto running, read_flags(flags));
                    PINFOLD_LET(auto outcome, agent.remove_pod(uid, running));
                    return not_enforced(outcome.not_enforced, error);
                  });
}

pinfold_code pinfold_container_start(pinfold_node* node, const char* pod, const char* container,
                                     char** error) {
  return with_pod(node, pod, "start container", error,
                  [&](NodeAgent& agent, const std::string& uid) -> Result<pinfold_code> {
                    PINFOLD_TRY(need(container, "container"));
                    PINFOLD_LET(auto outcome, agent.start(uid, container));
                    return not_enforced(outcome.not_enforced, error);
                  });
}

pinfold_code pinfold_container_release(pinfold_node* node, const char* pod, const char* container,
                                       uint32_t flags, char** error) {
  return with_pod(node, pod, "release container", error,
                  [&](NodeAgent& agent, const std::string& uid) -> Result<pinfold_code> {
                    PINFOLD_TRY(need(container, "container"));
                    PINFOLD_LET(auto running, read_flags(flags));
                    PINFOLD_LET(auto outcome, agent.remove_container(uid, container, running));
                    return not_enforced(outcome.not_enforced, error);
                  });
}

pinfold_code pinfold_container_place_process(pinfold_node* node, const char* pod,
                                             const char* container, int64_t process, char** error) {
  return with_pod(node, pod, "place process", error,
                  [&](NodeAgent& agent, const std::string& uid) -> Result<pinfold_code> {
                    PINFOLD_TRY(need(container, "container"));
                    const auto pid = static_cast<pid_t>(process);
                    if (process <= 0 || pid != process) {
                      return fail(ErrorCode::kInvalidArgument,
                                  fmt::format("process {}: expected a process id", process));
                    }
                    PINFOLD_TRY(agent.place({uid, container}, pid));
                    return PINFOLD_OK;
                  });
}

pinfold_code pinfold_container_place_group(pinfold_node* node, const char* pod,
                                           const char* container, const char* directory,
                                           char** error) {
  return with_pod(node, pod, "place group", error,
                  [&](NodeAgent& agent, const std::string& uid) -> Result<pinfold_code> {
                    auto given = need(container, "container");
                    if (given) given = need(directory, "directory");
                    if (!given) return fail(std::move(given).error());
                    PINFOLD_LET(auto outcome, agent.adopt(uid, {container, directory}));
                    return not_enforced(outcome.not_enforced, error);
                  });
}
