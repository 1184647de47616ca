#pragma once

#include <chrono>
#include <functional>
#include <variant>
#include <vector>

#include "pinfold/verbs/event.hpp"
#include "pinfold/verbs/execute.hpp"

namespace pinfold::worker {

using Clock = std::chrono::steady_clock;

/// Receives the answer; must neither block nor throw.
using Completion = std::function<void(Result<verbs::Answer>)>;

/// Who sends a request. Queue and sockets keep some room that only the owner may use.
enum class Origin {
  kOwner,  ///< root or the service's user, the service itself, and the container runtime
  kOther   ///< a member of the group of the socket, or unknown
};

/// An action in the queue of a worker.
struct Request {
  verbs::Action action;
  Completion done;
  /// If it passes while the request still waits, the request is answered then and not carried out.
  Clock::time_point deadline = Clock::time_point::max();
  Origin origin = Origin::kOwner;
};

/// Work of another part of the service with the node agent, in one turn of the worker.
struct Task {
  /// Returns the changes it made. The argument is the agent, or kBusy or stopping_error() if it is
  /// too late; the returned changes are then ignored. Must not throw.
  std::function<std::vector<verbs::Event>(Result<agent::NodeAgent*>)> run;
  /// Like the deadline of a request.
  Clock::time_point deadline = Clock::time_point::max();
};

/// What waits in the queue of a worker.
using Entry = std::variant<Request, Task>;

}  // namespace pinfold::worker
