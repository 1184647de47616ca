#include "call_log.hpp"

#include <algorithm>
#include <utility>

namespace pinfold::world {
namespace {

/// Returns the request to log; nullopt if it changes no decision.
std::optional<LoggedRequest> logged_of(const verbs::Action& request) {
  if (const auto* const admit = std::get_if<verbs::Admit>(&request)) return *admit;
  if (const auto* const start = std::get_if<verbs::Start>(&request)) return *start;
  if (const auto* const remove = std::get_if<verbs::Remove>(&request)) return *remove;
  if (const auto* const resize = std::get_if<verbs::Resize>(&request)) return *resize;
  return std::nullopt;
}

}  // namespace

void CallLog::begin(std::shared_ptr<const Node> node, agent::AgentState state) {
  node_ = std::move(node);
  first_ = std::move(state);
  calls_.clear();
  answered_ = 0;
}

std::optional<std::size_t> CallLog::invoke(const verbs::Action& request) {
  auto logged = logged_of(request);
  if (!logged) return std::nullopt;
  calls_.push_back({clients_++, time_++, std::nullopt, *std::move(logged), std::nullopt});
  return calls_.size() - 1;
}

void CallLog::answer(std::size_t call, const Result<verbs::Answer>& answer) {
  LoggedAnswer logged;
  if (!answer) {
    logged.error = answer.error().message.empty() ? "an error" : answer.error().message;
  } else if (const auto* const admissions = std::get_if<verbs::Admissions>(&*answer)) {
    auto& rejections = logged.rejections.emplace();
    for (const agent::AdmitOutcome& outcome : admissions->outcomes) {
      const auto& why = outcome.rejection;
      rejections.push_back(why ? why->reason + ": " + why->message : "");
    }
  } else if (const auto* const resized = std::get_if<agent::ResizeOutcome>(&*answer)) {
    logged.rejections = {resized->refused ? refusal_text(*resized->refused) : ""};
  }
  calls_.at(call).returned = time_++;
  calls_.at(call).answer = std::move(logged);
}

void CallLog::ask(const std::vector<verbs::Action>& steps, bool is_granted,
                  const LoggedPlaces& places) {
  const auto last = std::find_if(steps.rbegin(), steps.rend(), [](const verbs::Action& step) {
    return std::holds_alternative<verbs::Admit>(step);
  });
  for (const verbs::Action& step : steps) {
    auto logged = logged_of(step);
    if (!logged) continue;
    std::optional<LoggedAnswer> answer;
    if (is_granted && std::holds_alternative<verbs::Start>(step)) answer = LoggedAnswer{};
    if (is_granted && last != steps.rend() && &step == &*last) {
      const std::vector<std::string> all_admitted(std::get<verbs::Admit>(step).pods.size());
      answer = {"", all_admitted, {}};
    }
    add(*std::move(logged), std::move(answer), places);
  }
}

void CallLog::end(std::vector<ContainerId> ids) {
  if (ids.empty()) return;
  calls_.push_back(
      {clients_++, std::exchange(round_, time_++), time_++, Ended{std::move(ids)}, LoggedAnswer{}});
}

void CallLog::restart() {
  for (; answered_ < calls_.size(); ++answered_) {
    auto& returned = calls_[answered_].returned;
    if (!returned) returned = time_++;
  }
  add(Restarted{}, LoggedAnswer{});
}

void CallLog::read(const agent::AgentState& state) { add(Read{}, LoggedAnswer{"", {}, state}); }

void CallLog::add(LoggedRequest request, std::optional<LoggedAnswer> answer,
                  const LoggedPlaces& places) {
  const std::uint64_t invoked = time_++;
  calls_.push_back({clients_++, invoked, time_++, std::move(request), std::move(answer), places});
}

std::string CallLog::judge() const {
  return node_ == nullptr ? "" : find_contradiction(*node_, first_, calls_);
}

}  // namespace pinfold::world
