#pragma once

#include <chrono>
#include <variant>

#include "pinfold/base/result.hpp"
#include "pinfold/fields/types.hpp"
#include "pinfold/verbs/execute.hpp"

/// The messages between a client and a service; protocol.hpp has their encoding.
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
/// An answer, or the error that the service returns.
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
