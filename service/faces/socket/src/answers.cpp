#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "messages.hpp"
#include "pinfold/socket/comparison.hpp"
#include "pinfold/socket/protocol.hpp"
#include "pinfold/text/field.hpp"
#include "reconfiguration.hpp"

namespace pinfold::socket {
namespace {

using nlohmann::json;

std::optional<Error> read_optional_error(Members& members, const char* key) {
  const json* const value = members.find(key);
  if (value == nullptr) return std::nullopt;
  auto error = read_error(*value, members.path(key));
  if (!members.ok(error)) return std::nullopt;
  return *std::move(error);
}

json to_json(const agent::AdmitOutcome& outcome) {
  json out = json::object();
  if (outcome.rejection) {
    out["rejection"] = {{"reason", outcome.rejection->reason},
                        {"message", outcome.rejection->message},
                        {"cause", outcome.rejection->cause}};
  }
  if (outcome.not_enforced) out["notEnforced"] = error_json(*outcome.not_enforced);
  return out;
}

struct ToAnswer {
  json operator()(const verbs::Done& /*done*/) const { return {{"done", json::object()}}; }
  json operator()(const verbs::Admissions& admissions) const {
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
    if (outcome.not_enforced) out["notEnforced"] = error_json(*outcome.not_enforced);
    return {{"change", std::move(out)}};
  }
  json operator()(const verbs::HookOutcome& outcome) const {
    json out = json::object();
    if (outcome) {
      out["refusal"] = {{"summary", outcome->summary}, {"error", error_json(outcome->error)}};
    }
    return {{"hook", std::move(out)}};
  }
  json operator()(const agent::ReconcileReport& report) const {
    std::vector<std::string> steps;
    for (const enforce::Step& step : report.done) steps.push_back(to_string(step));
    steps.insert(steps.end(), report.moved.begin(), report.moved.end());
    json out = {{"drift", report.drift}, {"steps", steps}, {"remaining", report.remaining}};
    if (!report.notes.empty()) out["notes"] = report.notes;
    return {{"report", std::move(out)}};
  }
  json operator()(const verbs::Comparison& comparison) const {
    return {{"comparison", socket::to_json(comparison)}};
  }
  json operator()(const verbs::ServiceReport& report) const {
    return {{"service",
             {{"busyMs", report.busy.count()},
              {"following", report.is_following},
              {"podResourcesSocket", report.pod_resources_socket},
              {"podResourcesReason", report.pod_resources_reason}}}};
  }
  json operator()(const verbs::Reconfigured& outcome) const {
    json body = socket::to_json(outcome);
    if (outcome.change.not_enforced) body["notEnforced"] = error_json(*outcome.change.not_enforced);
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

Result<verbs::Answer> read_admissions(const json& list) {
  verbs::Admissions admissions;
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

Result<verbs::Answer> read_change(const json& body) {
  Members members(body, "change");
  agent::ChangeOutcome outcome;
  outcome.not_enforced = read_optional_error(members, "notEnforced");
  PINFOLD_TRY(members.end());
  return outcome;
}

Result<verbs::Answer> read_service(const json& body) {
  constexpr std::uint64_t kMostMs = std::uint64_t{1} << 53U;
  Members members(body, "service");
  verbs::ServiceReport report;
  report.busy = std::chrono::milliseconds(members.number("busyMs", kMostMs));
  report.is_following = members.flag("following");
  report.pod_resources_socket = members.text("podResourcesSocket");
  report.pod_resources_reason = members.text("podResourcesReason");
  PINFOLD_TRY(members.end());
  return report;
}

Result<verbs::Answer> read_hook(const json& body) {
  Members members(body, "hook");
  verbs::HookOutcome outcome;
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

Result<verbs::Answer> read_report(const json& body) {
  Members members(body, "report");
  agent::ReconcileReport report;
  report.drift = members.texts("drift");
  report.moved = members.texts("steps");
  report.remaining = members.texts("remaining");
  if (body.is_object() && body.contains("notes")) report.notes = members.texts("notes");
  PINFOLD_TRY(members.end());
  return report;
}

Result<verbs::Answer> read_comparison(const json& body) {
  PINFOLD_LET(auto comparison, comparison_from_json(body));
  return comparison;
}

Result<verbs::Answer> read_outcome(const json& body) {
  Members members(body, "reconfiguration");
  verbs::Reconfigured outcome = reconfigured_from(members);
  outcome.change.not_enforced = read_optional_error(members, "notEnforced");
  PINFOLD_TRY(members.end());
  return outcome;
}

Result<verbs::Answer> read_done(const json& body) {
  Members members(body, "done");
  PINFOLD_TRY(members.end());
  return verbs::Done{};
}

constexpr std::array<std::pair<const char*, Result<verbs::Answer> (*)(const json&)>, 8> kAnswers = {{
    {"done", read_done},
    {"admissions", read_admissions},
    {"change", read_change},
    {"hook", read_hook},
    {"report", read_report},
    {"comparison", read_comparison},
    {"service", read_service},
    {"reconfiguration", read_outcome},
}};

}  // namespace

std::string encode(const Result<verbs::Answer>& answer) {
  if (!answer) return to_line({{"error", error_json(answer.error())}});
  std::string line = to_line(std::visit(ToAnswer{}, *answer));
  if (line.size() <= kMaxMessage) return line;
  const std::string text =
      fmt::format("it is done, but the answer is longer than {} bytes", kMaxMessage);
  return to_line({{"error", error_json({ErrorCode::kIo, ENOTRECOVERABLE, text})}});
}

Result<verbs::Answer> decode_answer(std::string_view line) {
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

}  // namespace pinfold::socket
