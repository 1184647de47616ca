#include "call_log.hpp"

#include <utility>

namespace pinfold::world {

void CallLog::begin(std::shared_ptr<const Node> node, agent::AgentState state) {
  node_ = std::move(node);
  first_ = std::move(state);
  calls_.clear();
  answered_ = 0;
}

std::optional<std::size_t> CallLog::invoke(const service::Action& request) {
  LoggedCall call;
  call.client = clients_++;
  call.invoked = time_++;
  if (const auto* const admit = std::get_if<service::Admit>(&request)) {
    call.request = *admit;
  } else if (const auto* const start = std::get_if<service::Start>(&request)) {
    call.request = *start;
  } else if (const auto* const remove = std::get_if<service::Remove>(&request)) {
    call.request = *remove;
  } else {
    return std::nullopt;
  }
  calls_.push_back(std::move(call));
  return calls_.size() - 1;
}

void CallLog::answer(std::size_t call, const Result<service::Answer>& answer) {
  LoggedAnswer logged;
  if (!answer) {
    logged.error = answer.error().message.empty() ? "an error" : answer.error().message;
  } else if (const auto* const admissions = std::get_if<service::Admissions>(&*answer)) {
    for (const agent::AdmitOutcome& outcome : admissions->outcomes) {
      const auto& why = outcome.rejection;
      logged.rejections.push_back(why ? why->reason + ": " + why->message : "");
    }
  }
  calls_.at(call).returned = time_++;
  calls_.at(call).answer = std::move(logged);
}

void CallLog::restart() {
  for (; answered_ < calls_.size(); ++answered_) {
    auto& returned = calls_[answered_].returned;
    if (!returned) returned = time_++;
  }
  add(Restarted{}, {});
}

void CallLog::read(const agent::AgentState& state) { add(Read{}, {"", {}, state}); }

void CallLog::add(LoggedRequest request, LoggedAnswer answer) {
  const std::uint64_t invoked = time_++;
  calls_.push_back({clients_++, invoked, time_++, std::move(request), std::move(answer)});
}

std::string CallLog::judge() const {
  return node_ == nullptr ? "" : find_contradiction(*node_, first_, calls_);
}

}  // namespace pinfold::world
