#include "pinfold/socket/protocol.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "members.hpp"
#include "pinfold/socket/comparison.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"
#include "reconfiguration.hpp"

namespace pinfold::service {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

std::string to_line(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<json> parse_line(std::string_view line) {
  if (line.size() > kMaxMessage) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("message: longer than {} bytes", kMaxMessage));
  }
  if (!line.starts_with("{\"")) {  // parse_document also reads YAML
    return fail(ErrorCode::kInvalidArgument, "message: expected a JSON object with members");
  }
  PINFOLD_LET_WRAP(auto message, parse_document(line), "message");
  return message;
}

json to_json(const Error& error) {
  return {{"code", to_string(error.code)}, {"errno", error.sys_errno}, {"message", error.message}};
}

constexpr std::array kErrorCodes = {
    ErrorCode::kInvalidArgument, ErrorCode::kNotFound, ErrorCode::kCorrupt, ErrorCode::kIo,
    ErrorCode::kUnsupported,     ErrorCode::kInternal, ErrorCode::kBusy};

Result<Error> read_error(const json& value, const std::string& path) {
  Members members(value, path);
  Error error;
  const std::string code = members.text("code");
  error.sys_errno = static_cast<int>(members.number("errno", std::numeric_limits<int>::max()));
  error.message = members.text("message");
  bool is_known = false;
  for (const ErrorCode known : kErrorCodes) {
    if (to_string(known) != code) continue;
    error.code = known;
    is_known = true;
  }
  if (!is_known) members.fail_at("code", code, "expected the name of an error code");
  PINFOLD_TRY(members.end());
  return error;
}

std::optional<Error> read_optional_error(Members& members, const char* key) {
  const json* const value = members.find(key);
  if (value == nullptr) return std::nullopt;
  auto error = read_error(*value, members.path(key));
  if (!members.ok(error)) return std::nullopt;
  return *std::move(error);
}

/// The one member of a message, which says what it is: its name and its value.
Result<std::pair<std::string, const json*>> only_member(const json& message) {
  if (!message.is_object() || message.size() != 1) {
    return fail_field("message", message, "expected an object with one member");
  }
  return std::pair(message.begin().key(), &message.begin().value());
}

// --- requests ---

json to_json(const ContainerId& id) { return {{"pod", id.pod.value}, {"container", id.name}}; }

ContainerId read_container(Members& members) {
  ContainerId id;
  id.pod = PodUid(members.text("pod"));
  id.name = members.text("container");
  return id;
}

json to_json(const enforce::ProcessId& process) {
  return {{"pid", process.pid}, {"startTime", process.start_time}};
}

enforce::ProcessId read_process(Members& members) {
  Members process(members.get("process"), members.path("process"));
  enforce::ProcessId id;
  id.pid = static_cast<pid_t>(process.number("pid", std::numeric_limits<pid_t>::max()));
  id.start_time = process.number("startTime", std::numeric_limits<std::uint64_t>::max());
  (void)members.ok(process.end());
  return id;
}

PodSpec read_pod(Members& members, const json& value, const std::string& path) {
  auto pod = pod_from_json(value);
  if (pod) return *std::move(pod);
  (void)members.ok(Result<void>(tl::unexpected(std::move(pod).error().wrap(path))));
  return {};
}

struct ToMessage {
  json operator()(const Admit& request) const {
    json pods = json::array();
    for (const PodSpec& pod : request.pods) pods.push_back(pinfold::to_json(pod));
    return {{"admit", {{"pods", std::move(pods)}, {"trace", request.wants_trace}}}};
  }
  json operator()(const Start& request) const { return {{"start", to_json(request.container)}}; }
  json operator()(const Attach& request) const {
    json body = to_json(request.container);
    body["process"] = to_json(request.process);
    return {{"attach", std::move(body)}};
  }
  json operator()(const Remove& request) const {
    json body = {{"pod", request.pod.value},
                 {"kill", request.running == agent::RunningProcesses::kKill}};
    if (!request.container.empty()) body["container"] = request.container;
    return {{"remove", std::move(body)}};
  }
  json operator()(const ReleaseUnknown& /*request*/) const {
    return {{"releaseUnknown", json::object()}};
  }
  json operator()(const AdmitHooked& request) const {
    return {{"admitHooked",
             {{"pod", pinfold::to_json(request.pod)},
              {"container", request.adoption.container},
              {"directory", request.adoption.directory},
              {"process", to_json(request.process)}}}};
  }
  json operator()(const RemoveHooked& request) const {
    return {{"removeHooked", to_json(request.container)}};
  }
  json operator()(const Reconcile& request) const {
    return {{"reconcile", {{"movePages", request.pages == agent::PageMoves::kOn}}}};
  }
  json operator()(const Settle& /*request*/) const { return {{"settle", json::object()}}; }
  json operator()(const ReadComparison& /*request*/) const {
    return {{"comparison", json::object()}};
  }
  json operator()(const Reconfigure& request) const {
    return {{"reconfigure", service::to_json(request)}};
  }
  json operator()(const Defragment& request) const {
    return {{"defragment",
             {{"pod", pinfold::to_json(request.pod)},
              {"dryRun", request.dry_run},
              {"steps", request.steps}}}};
  }
  json operator()(const Adopt& request) const {
    return {{"adopt",
             {{"pod", request.pod.value},
              {"container", request.adoption.container},
              {"directory", request.adoption.directory}}}};
  }
};

Result<Action> read_admit(Members& members) {
  Admit request;
  for (const json& pod : members.list("pods")) {
    request.pods.push_back(
        read_pod(members, pod, members.path(fmt::format("pods[{}]", request.pods.size()))));
  }
  request.wants_trace = members.flag("trace");
  PINFOLD_TRY(members.end());
  if (!request.pods.empty()) return request;
  return fail(ErrorCode::kInvalidArgument, "admit.pods: expected at least one pod");
}

template <class OfContainer>
Result<Action> read_of_container(Members& members) {
  OfContainer request{read_container(members)};
  PINFOLD_TRY(members.end());
  return request;
}

Result<Action> read_attach(Members& members) {
  Attach request{read_container(members), read_process(members)};
  PINFOLD_TRY(members.end());
  return request;
}

Result<Action> read_remove(Members& members) {
  Remove request{PodUid(members.text("pod")), "", agent::RunningProcesses::kRefuse};
  if (members.find("container") != nullptr) request.container = members.text("container");
  if (members.flag("kill")) request.running = agent::RunningProcesses::kKill;
  PINFOLD_TRY(members.end());
  return request;
}

template <class Empty>
Result<Action> read_empty(Members& members) {
  PINFOLD_TRY(members.end());
  return Empty{};
}

Result<Action> read_admit_hooked(Members& members) {
  AdmitHooked request{read_pod(members, members.get("pod"), members.path("pod")),
                      {members.text("container"), members.text("directory")},
                      read_process(members)};
  PINFOLD_TRY(members.end());
  return request;
}

Result<Action> read_adopt(Members& members) {
  Adopt request{PodUid(members.text("pod")),
                {members.text("container"), members.text("directory")}};
  PINFOLD_TRY(members.end());
  return request;
}

Result<Action> read_reconcile(Members& members) {
  const bool moves = members.flag("movePages");
  PINFOLD_TRY(members.end());
  return Reconcile{moves ? agent::PageMoves::kOn : agent::PageMoves::kOff};
}

Result<Action> read_reconfigure(Members& members) {
  PINFOLD_LET(auto request, reconfigure_from(members));
  return request;
}

Result<Action> read_defragment(Members& members) {
  Defragment request{read_pod(members, members.get("pod"), members.path("pod")),
                     members.flag("dryRun")};
  if (members.find("steps") != nullptr) request.steps = members.number("steps", kMostSteps);
  PINFOLD_TRY(members.end());
  return request;
}

constexpr std::array<std::pair<const char*, Result<Action> (*)(Members&)>, 13> kReaders = {{
    {"admit", read_admit},
    {"start", read_of_container<Start>},
    {"attach", read_attach},
    {"remove", read_remove},
    {"releaseUnknown", read_empty<ReleaseUnknown>},
    {"admitHooked", read_admit_hooked},
    {"removeHooked", read_of_container<RemoveHooked>},
    {"reconcile", read_reconcile},
    {"settle", read_empty<Settle>},
    {"adopt", read_adopt},
    {"comparison", read_empty<ReadComparison>},
    {"reconfigure", read_reconfigure},
    {"defragment", read_defragment},
}};

// --- answers ---

json to_json(const agent::AdmitOutcome& outcome) {
  json out = json::object();
  if (outcome.rejection) {
    out["rejection"] = {{"reason", outcome.rejection->reason},
                        {"message", outcome.rejection->message},
                        {"cause", outcome.rejection->cause}};
  }
  if (outcome.not_enforced) out["notEnforced"] = to_json(*outcome.not_enforced);
  return out;
}

struct ToAnswer {
  json operator()(const Done& /*done*/) const { return {{"done", json::object()}}; }
  json operator()(const Admissions& admissions) const {
    json list = json::array();
    for (std::size_t i = 0; i < admissions.outcomes.size(); ++i) {
      list.push_back(to_json(admissions.outcomes[i]));
      if (i < admissions.traces.size()) {
        list.back()["trace"] = pinfold::to_json(admissions.traces[i]);
      }
    }
    return {{"admissions", std::move(list)}};
  }
  json operator()(const agent::ChangeOutcome& outcome) const {
    json out = json::object();
    if (outcome.not_enforced) out["notEnforced"] = to_json(*outcome.not_enforced);
    return {{"change", std::move(out)}};
  }
  json operator()(const HookOutcome& outcome) const {
    json out = json::object();
    if (outcome) {
      out["refusal"] = {{"summary", outcome->summary}, {"error", to_json(outcome->error)}};
    }
    return {{"hook", std::move(out)}};
  }
  json operator()(const agent::ReconcileReport& report) const {
    std::vector<std::string> steps;
    for (const enforce::Step& step : report.done) steps.push_back(to_string(step));
    steps.insert(steps.end(), report.moved.begin(), report.moved.end());
    return {
        {"report", {{"drift", report.drift}, {"steps", steps}, {"remaining", report.remaining}}}};
  }
  json operator()(const Comparison& comparison) const {
    return {{"comparison", service::to_json(comparison)}};
  }
  json operator()(const agent::Reconfigured& outcome) const {
    json body = service::to_json(outcome);
    if (outcome.change.not_enforced) body["notEnforced"] = to_json(*outcome.change.not_enforced);
    return {{"reconfiguration", std::move(body)}};
  }
};

Result<Trace> read_trace(const json& list, const std::string& path) {
  Trace trace;
  if (!list.is_array()) return fail_field(path, list, "expected a list");
  for (const json& fact : list) {
    Members members(fact, fmt::format("{}[{}]", path, trace.facts.size()));
    trace.facts.push_back({members.text("source"), members.text("object"), members.text("text")});
    PINFOLD_TRY(members.end());
  }
  return trace;
}

Result<Answer> read_admissions(const json& list) {
  Admissions admissions;
  if (!list.is_array()) return fail_field("admissions", list, "expected a list");
  for (const json& entry : list) {
    Members members(entry, fmt::format("admissions[{}]", admissions.outcomes.size()));
    agent::AdmitOutcome outcome;
    if (const json* const value = members.find("rejection")) {
      Members rejection(*value, members.path("rejection"));
      outcome.rejection.emplace(
          Rejection{rejection.text("reason"), rejection.text("message"), rejection.text("cause")});
      PINFOLD_TRY(rejection.end());
    }
    outcome.not_enforced = read_optional_error(members, "notEnforced");
    if (const json* const value = members.find("trace")) {
      PINFOLD_LET(admissions.traces.emplace_back(), read_trace(*value, members.path("trace")));
    }
    PINFOLD_TRY(members.end());
    admissions.outcomes.push_back(std::move(outcome));
  }
  return admissions;
}

Result<Answer> read_change(const json& body) {
  Members members(body, "change");
  agent::ChangeOutcome outcome;
  outcome.not_enforced = read_optional_error(members, "notEnforced");
  PINFOLD_TRY(members.end());
  return outcome;
}

Result<Answer> read_hook(const json& body) {
  Members members(body, "hook");
  HookOutcome outcome;
  if (const json* const value = members.find("refusal")) {
    Members refusal(*value, "hook.refusal");
    outcome.emplace();
    outcome->summary = refusal.text("summary");
    PINFOLD_LET(outcome->error, read_error(refusal.get("error"), "hook.refusal.error"));
    PINFOLD_TRY(refusal.end());
  }
  PINFOLD_TRY(members.end());
  return outcome;
}

Result<Answer> read_report(const json& body) {
  Members members(body, "report");
  agent::ReconcileReport report;
  report.drift = members.texts("drift");
  report.moved = members.texts("steps");
  report.remaining = members.texts("remaining");
  PINFOLD_TRY(members.end());
  return report;
}

Result<Answer> read_comparison(const json& body) {
  PINFOLD_LET(auto comparison, comparison_from_json(body));
  return comparison;
}

Result<Answer> read_outcome(const json& body) {
  Members members(body, "reconfiguration");
  agent::Reconfigured outcome = reconfigured_from(members);
  outcome.change.not_enforced = read_optional_error(members, "notEnforced");
  PINFOLD_TRY(members.end());
  return outcome;
}

Result<Answer> read_done(const json& body) {
  Members members(body, "done");
  PINFOLD_TRY(members.end());
  return Done{};
}

constexpr std::array<std::pair<const char*, Result<Answer> (*)(const json&)>, 7> kAnswers = {{
    {"done", read_done},
    {"admissions", read_admissions},
    {"change", read_change},
    {"hook", read_hook},
    {"report", read_report},
    {"comparison", read_comparison},
    {"reconfiguration", read_outcome},
}};

agent::ProfileSource read_profile_source(Members& members) {
  using agent::ProfileSource;
  const std::string name = members.text("profileSource");
  for (const auto source :
       {ProfileSource::kCommandLine, ProfileSource::kConfiguration, ProfileSource::kKubelet,
        ProfileSource::kStateFiles, ProfileSource::kDefault}) {
    if (to_string(source) == name) return source;
  }
  members.fail_at("profileSource", name, "expected what determines a profile");
  return ProfileSource::kDefault;
}

/// The value of a message {"NAME": value}; an answered error becomes the error.
Result<const json*> body_of(const json& message, const char* name) {
  PINFOLD_LET(const auto entry, only_member(message));
  if (entry.first == "error") {
    PINFOLD_LET(auto error, read_error(*entry.second, "error"));
    return fail(std::move(error));
  }
  if (name == entry.first) return entry.second;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("message: '{}': expected '{}'", printable(entry.first), name));
}

}  // namespace

std::string encode_hello_request() { return to_line({{"hello", {{"version", kProtocolVersion}}}}); }

Result<void> decode_hello_request(std::string_view line) {
  PINFOLD_LET(const json message, parse_line(line));
  PINFOLD_LET(const json* const body, body_of(message, "hello"));
  Members members(*body, "hello");
  const auto version = members.number("version", std::numeric_limits<std::int32_t>::max());
  if (version != kProtocolVersion) {
    (void)members.ok(Result<void>(
        fail(ErrorCode::kUnsupported,
             fmt::format("hello.version: {}: this service speaks version {} of the protocol",
                         version, kProtocolVersion))));
  }
  return members.end();
}

std::string encode(const Hello& hello) {
  return to_line({{"hello",
                   {{"version", kProtocolVersion},
                    {"software", hello.version},
                    {"stateDir", hello.state_dir},
                    {"config", pinfold::to_json(hello.config)},
                    {"profileSource", to_string(hello.profile_source)},
                    {"machine", hello.machine.to_json()},
                    {"cgroupRoot", hello.cgroup_root}}}});
}

Result<Hello> decode_hello(std::string_view line) {
  PINFOLD_LET(const json message, parse_line(line));
  PINFOLD_LET(const json* const body, body_of(message, "hello"));
  Members members(*body, "hello");
  const json& version = members.get("version");
  if (version != kProtocolVersion) {
    members.fail_at("version", version, fmt::format("expected {}", kProtocolVersion));
  }
  std::string software = members.text("software");
  std::string state_dir = members.text("stateDir");
  const json& config_json = members.get("config");
  const agent::ProfileSource profile_source = read_profile_source(members);
  const json& machine_json = members.get("machine");
  std::string cgroup_root = members.text("cgroupRoot");
  PINFOLD_TRY(members.end());
  PINFOLD_LET_WRAP(auto config, config_from_json(config_json), "hello.config");
  PINFOLD_LET_WRAP(auto machine, Machine::from_json(machine_json), "hello.machine");
  return Hello{std::move(software), std::move(state_dir), std::move(config.config),
               profile_source,      std::move(machine),   std::move(cgroup_root)};
}

std::string encode(const Call& call) {
  json message = std::visit(ToMessage{}, call.action);
  if (call.timeout > milliseconds::zero()) message["timeoutMs"] = call.timeout.count();
  return to_line(message);
}

Result<Call> decode_call(std::string_view line) {
  PINFOLD_LET(json message, parse_line(line));
  constexpr std::uint64_t kMaxTimeout = 3'600'000;
  Call call;
  if (const auto timeout = message.find("timeoutMs"); timeout != message.end()) {
    if (!timeout->is_number_unsigned() || timeout->get<std::uint64_t>() > kMaxTimeout) {
      return fail_field("timeoutMs", *timeout,
                        fmt::format("expected a number from 0 to {}", kMaxTimeout));
    }
    call.timeout = milliseconds(timeout->get<std::uint64_t>());
    message.erase(timeout);
  }
  PINFOLD_LET(const auto entry, only_member(message));
  for (const auto& [name, read] : kReaders) {
    if (entry.first != name) continue;
    Members body(*entry.second, name);
    PINFOLD_LET(call.action, read(body));
    return call;
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("message: '{}': expected the name of a request", printable(entry.first)));
}

std::string encode(const Result<Answer>& answer) {
  if (!answer) return to_line({{"error", to_json(answer.error())}});
  std::string line = to_line(std::visit(ToAnswer{}, *answer));
  if (line.size() <= kMaxMessage) return line;
  return to_line({{"error", to_json(Error{ErrorCode::kUnsupported, 0,
                                          fmt::format("it is done, but the answer is longer than "
                                                      "{} bytes",
                                                      kMaxMessage)})}});
}

Result<Answer> decode_answer(std::string_view line) {
  PINFOLD_LET(const json message, parse_line(line));
  PINFOLD_LET(const auto entry, only_member(message));
  if (entry.first == "error") {
    PINFOLD_LET(auto error, read_error(*entry.second, "error"));
    return fail(std::move(error));
  }
  for (const auto& [name, read] : kAnswers) {
    if (entry.first == name) return read(*entry.second);
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("message: '{}': expected the name of an answer", printable(entry.first)));
}

}  // namespace pinfold::service
