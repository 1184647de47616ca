#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/decide/keep.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/service/request.hpp"

/// Whether the answers that clients got are those of requests that were done one after the other.
/// It shares nothing with what else judges a world.
namespace pinfold::world {

/// The service has started again: what only its memory had is gone.
struct Restarted {};
/// The state as a client reads it.
struct Read {};
/// What was left of these containers is removed, as they had ended; a name of "": all of a pod. Of
/// what is not there any more nothing is.
struct Ended {
  std::vector<ContainerId> containers;
};
using LoggedRequest =
    std::variant<service::Admit, service::Start, service::Remove, Restarted, Read, Ended>;

struct LoggedAnswer {
  std::string error;  ///< not "": nothing has happened
  /// Of each pod of an admission, "REASON: MESSAGE"; "": it is admitted. nullopt: not told.
  std::optional<std::vector<std::string>> rejections;
  std::optional<agent::AgentState> state;  ///< that was read

  friend bool operator==(const LoggedAnswer&, const LoggedAnswer&) = default;
};

/// What containers that run already have, by the UID of their pod.
using LoggedPlaces = std::map<PodUid, Places>;

struct LoggedCall {
  int client = 0;
  std::uint64_t invoked = 0;              ///< a time; no two calls have the same one
  std::optional<std::uint64_t> returned;  ///< nullopt: it can still happen
  LoggedRequest request;
  std::optional<LoggedAnswer> answer;  ///< nullopt: it has happened, or not
  LoggedPlaces places = {};            ///< that an admission keeps
};

/// Searches for an order of the calls in which each is done between its invocation and its return,
/// and has the answer that the pure decisions give after the calls before it. Returns: "" if there
/// is one, or the call that fits into none.
/// Source: J. Wing, C. Gong, Testing and Verifying Concurrent Objects, 1993; the calls that were
/// done and the state are remembered as by G. Lowe, Testing for Linearizability, 2017.
[[nodiscard]] std::string find_contradiction(const Node& node, const agent::AgentState& first,
                                             const std::vector<LoggedCall>& log);

}  // namespace pinfold::world
