#pragma once

#include <chrono>
#include <functional>

#include "pinfold/verbs/execute.hpp"

namespace pinfold::worker {

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
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  Origin origin = Origin::kOwner;
};

/// Returns the error of a request that was not carried out because the service is stopping: kBusy
/// with ESHUTDOWN.
[[nodiscard]] Error stopping_error();
[[nodiscard]] bool is_stopping(const Error& error);

}  // namespace pinfold::worker
