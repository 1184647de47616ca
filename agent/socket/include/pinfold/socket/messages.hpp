#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "pinfold/base/result.hpp"
#include "pinfold/fields/types.hpp"
#include "pinfold/verbs/execute.hpp"

/// The messages between a client and a service; protocol.hpp has their encoding.
namespace pinfold::socket {

inline constexpr std::uint32_t kProtocolVersion = 2;

/// A client's introduction of itself.
struct HelloRequest {
  std::uint32_t version = kProtocolVersion;
};
/// A Hello that may have no machine yet.
struct HelloAnswer {
  std::uint32_t version = kProtocolVersion;
  std::string software;
  std::string state_dir;
  Config config;
  agent::ProfileSource profile_source = agent::ProfileSource::kDefault;
  std::optional<Machine> machine;
  std::string cgroup_root;
};
/// The first line of a client; never an error.
struct HelloRequestMessage {
  std::variant<HelloRequest, Error> hello;
};
/// The first line of the service.
struct HelloAnswerMessage {
  std::variant<HelloAnswer, Error> hello;
};

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

void describe(fields::Fields& fields, HelloRequest& hello);
void describe(fields::Fields& fields, HelloAnswer& hello);
void describe(fields::Fields& fields, HelloRequestMessage& message);
void describe(fields::Fields& fields, HelloAnswerMessage& message);
void describe(fields::Fields& fields, RequestMessage& message);
void describe(fields::Fields& fields, AnswerMessage& message);

}  // namespace pinfold::socket
