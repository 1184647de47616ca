#pragma once

#include <variant>

#include "pinfold/fields/types.hpp"
#include "pinfold/socket/protocol.hpp"

/// The messages as described types; protocol.hpp has their values.
namespace pinfold::socket {

/// A request as a message.
struct RequestMessage {
  Call call;
};
/// An answer, or the error that the service answers.
struct AnswerMessage {
  std::variant<verbs::Done, verbs::Admissions, agent::ChangeOutcome, verbs::HookOutcome,
               agent::ReconcileReport, verbs::Comparison, verbs::ServiceReport, verbs::Reconfigured,
               Error>
      answer;
};

void describe(fields::Fields& fields, RequestMessage& message);
void describe(fields::Fields& fields, AnswerMessage& message);

}  // namespace pinfold::socket
