#pragma once

#include <chrono>
#include <variant>

#include "pinfold/base/result.hpp"
#include "pinfold/fields/types.hpp"
#include "pinfold/verbs/execute.hpp"

/// What a client and a service say to each other; protocol.hpp has its encoding.
namespace pinfold::socket {

/// A request, and the longest time that it may wait; zero: no limit.
struct Call {
  verbs::Action action;
  std::chrono::milliseconds timeout{0};
};

/// A request as a message.
struct RequestMessage {
  Call call;
};
/// An answer, or the error that the service answers.
struct AnswerMessage {
  std::variant<verbs::Done, verbs::Admissions, agent::ChangeOutcome, verbs::HookOutcome,
               agent::ReconcileReport, verbs::Comparison, verbs::ServiceReport, verbs::Reconfigured,
               agent::NodeStatus, verbs::PodList, agent::ResizeOutcome, verbs::PreparedContainer,
               Error>
      answer;
};

void describe(fields::Fields& fields, RequestMessage& message);
void describe(fields::Fields& fields, AnswerMessage& message);

}  // namespace pinfold::socket
