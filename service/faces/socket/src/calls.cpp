#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "messages.hpp"
#include "pinfold/socket/protocol.hpp"
#include "pinfold/text/field.hpp"
#include "reconfiguration.hpp"

namespace pinfold::socket {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

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
  json operator()(const verbs::Admit& request) const {
    json pods = json::array();
    for (const PodSpec& pod : request.pods) pods.push_back(pinfold::to_json(pod));
    return {{"admit", {{"pods", std::move(pods)}, {"trace", request.wants_trace}}}};
  }
  json operator()(const verbs::Start& request) const { return {{"start", to_json(request.container)}}; }
  json operator()(const verbs::Attach& request) const {
    json body = to_json(request.container);
    body["process"] = to_json(request.process);
    return {{"attach", std::move(body)}};
  }
  json operator()(const verbs::Remove& request) const {
    json body = {{"pod", request.pod.value},
                 {"kill", request.running == agent::RunningProcesses::kKill}};
    if (!request.container.empty()) body["container"] = request.container;
    return {{"remove", std::move(body)}};
  }
  json operator()(const verbs::ReleaseUnknown& /*request*/) const {
    return {{"releaseUnknown", json::object()}};
  }
  json operator()(const verbs::AdmitHooked& request) const {
    return {{"admitHooked",
             {{"pod", pinfold::to_json(request.pod)},
              {"container", request.adoption.container},
              {"directory", request.adoption.directory},
              {"process", to_json(request.process)}}}};
  }
  json operator()(const verbs::RemoveHooked& request) const {
    return {{"removeHooked", to_json(request.container)}};
  }
  json operator()(const verbs::Reconcile& request) const {
    return {{"reconcile", {{"movePages", request.pages == agent::PageMoves::kOn}}}};
  }
  json operator()(const verbs::Settle& /*request*/) const { return {{"settle", json::object()}}; }
  json operator()(const verbs::ReadComparison& /*request*/) const {
    return {{"comparison", json::object()}};
  }
  json operator()(const verbs::ReadService& /*request*/) const { return {{"service", json::object()}}; }
  json operator()(const verbs::Reconfigure& request) const {
    return {{"reconfigure", socket::to_json(request)}};
  }
  json operator()(const verbs::Defragment& request) const {
    return {{"defragment",
             {{"pod", pinfold::to_json(request.pod)},
              {"dryRun", request.dry_run},
              {"steps", request.steps}}}};
  }
  json operator()(const verbs::Adopt& request) const {
    return {{"adopt",
             {{"pod", request.pod.value},
              {"container", request.adoption.container},
              {"directory", request.adoption.directory}}}};
  }
};

Result<verbs::Action> read_admit(Members& members) {
  verbs::Admit request;
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
Result<verbs::Action> read_of_container(Members& members) {
  OfContainer request{read_container(members)};
  PINFOLD_TRY(members.end());
  return request;
}

Result<verbs::Action> read_attach(Members& members) {
  verbs::Attach request{read_container(members), read_process(members)};
  PINFOLD_TRY(members.end());
  return request;
}

Result<verbs::Action> read_remove(Members& members) {
  verbs::Remove request{PodUid(members.text("pod")), "", agent::RunningProcesses::kRefuse};
  if (members.find("container") != nullptr) request.container = members.text("container");
  if (members.flag("kill")) request.running = agent::RunningProcesses::kKill;
  PINFOLD_TRY(members.end());
  return request;
}

template <class Empty>
Result<verbs::Action> read_empty(Members& members) {
  PINFOLD_TRY(members.end());
  return Empty{};
}

Result<verbs::Action> read_admit_hooked(Members& members) {
  verbs::AdmitHooked request{read_pod(members, members.get("pod"), members.path("pod")),
                      {members.text("container"), members.text("directory")},
                      read_process(members)};
  PINFOLD_TRY(members.end());
  return request;
}

Result<verbs::Action> read_adopt(Members& members) {
  verbs::Adopt request{PodUid(members.text("pod")),
                {members.text("container"), members.text("directory")}};
  PINFOLD_TRY(members.end());
  return request;
}

Result<verbs::Action> read_reconcile(Members& members) {
  const bool moves = members.flag("movePages");
  PINFOLD_TRY(members.end());
  return verbs::Reconcile{moves ? agent::PageMoves::kOn : agent::PageMoves::kOff};
}

Result<verbs::Action> read_reconfigure(Members& members) {
  PINFOLD_LET(auto request, reconfigure_from(members));
  return request;
}

Result<verbs::Action> read_defragment(Members& members) {
  verbs::Defragment request{read_pod(members, members.get("pod"), members.path("pod")),
                     members.flag("dryRun")};
  if (members.find("steps") != nullptr) request.steps = members.number("steps", verbs::kMostSteps);
  PINFOLD_TRY(members.end());
  return request;
}

constexpr std::array<std::pair<const char*, Result<verbs::Action> (*)(Members&)>, 14> kReaders = {{
    {"admit", read_admit},
    {"start", read_of_container<verbs::Start>},
    {"attach", read_attach},
    {"remove", read_remove},
    {"releaseUnknown", read_empty<verbs::ReleaseUnknown>},
    {"admitHooked", read_admit_hooked},
    {"removeHooked", read_of_container<verbs::RemoveHooked>},
    {"reconcile", read_reconcile},
    {"settle", read_empty<verbs::Settle>},
    {"adopt", read_adopt},
    {"comparison", read_empty<verbs::ReadComparison>},
    {"service", read_empty<verbs::ReadService>},
    {"reconfigure", read_reconfigure},
    {"defragment", read_defragment},
}};

}  // namespace

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

}  // namespace pinfold::socket
