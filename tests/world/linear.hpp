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
#include "pinfold/decide/resize.hpp"
#include "pinfold/verbs/execute.hpp"

/// Checks whether the answers that clients got can come from requests that were done one after the
/// other. Shares no code with the other judges of a world.
namespace pinfold::world {

/// Returns the message of a rejected resize without its advice, which depends on the offline CPUs;
/// an order of calls does not contain them. The model compares this text.
[[nodiscard]] std::string refusal_text(const NotResized& refused);

/// The service restarted: what was only in its memory is gone.
struct Restarted {};
/// A client read the state.
struct Read {};
/// The leftovers of these containers were removed, because they had ended; a name "" means the
/// whole pod. Containers that no longer exist are ignored.
struct Ended {
  std::vector<ContainerId> containers;
};
using LoggedRequest =
    std::variant<verbs::Admit, verbs::Start, verbs::Remove, verbs::Resize, Restarted, Read, Ended>;

struct LoggedAnswer {
  std::string error;  ///< not "": nothing has happened
  /// For each pod of an admission "REASON: MESSAGE"; "": it is admitted. For a resize one text.
  /// nullopt: unknown.
  std::optional<std::vector<std::string>> rejections;
  std::optional<agent::AgentState> state;  ///< the state that was read

  friend bool operator==(const LoggedAnswer&, const LoggedAnswer&) = default;
};

/// The resources of containers that run already, by the UID of their pod.
using LoggedPlaces = std::map<PodUid, Places>;

struct LoggedCall {
  int client = 0;
  std::uint64_t invoked = 0;              ///< a time; different for every call
  std::optional<std::uint64_t> returned;  ///< nullopt: it can still happen
  LoggedRequest request;
  std::optional<LoggedAnswer> answer;  ///< nullopt: it may or may not have happened
  LoggedPlaces places = {};            ///< existing resources that an admission keeps
};

/// Searches for an order of the calls in which each one is done between its invocation and its
/// return, and has the answer that the pure decisions give after the calls before it. Returns: ""
/// if there is such an order, otherwise the call that does not fit. Explores every state that is
/// reachable after k calls, for all k; the number of these states grows with the number of
/// concurrent calls.
/// Source: J. Wing, C. Gong, Testing and Verifying Concurrent Objects, 1993; sets of done calls and
/// states are cached as by G. Lowe, Testing for Linearizability, 2017.
[[nodiscard]] std::string find_contradiction(const Node& node, const agent::AgentState& first,
                                             const std::vector<LoggedCall>& log);

}  // namespace pinfold::world
