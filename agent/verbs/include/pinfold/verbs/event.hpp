#pragma once

#include <string>
#include <vector>

#include "pinfold/verbs/action.hpp"
#include "pinfold/verbs/answer.hpp"

namespace pinfold::verbs {

enum class EventKind {
  kAdmitted,
  kRejected,
  kStarted,
  kRemoved,
  kReleased,
  kReconciled,  ///< there was drift
  kAdopted,
  /// A container ran unknown or without its cpuset. The only event that no action causes: the NRI
  /// plugin finds it.
  kFoundUnpinned,
  kMoved  ///< the CPUs or memory nodes of a container have changed
};

/// Something that has happened on a node.
struct Event {
  EventKind kind = EventKind::kAdmitted;
  /// Empty for kReleased and kReconciled, and for kFoundUnpinned until the runtime has shown the
  /// pod.
  PodUid pod;
  std::string container;  ///< empty: the pod with all its containers

  friend bool operator==(const Event&, const Event&) = default;
};
using Events = std::vector<Event>;

/// Appends the events of an executed action. They come only from here, for every kind of client.
void add_events(const Action& action, const Answer& answer, Events& events);
/// Appends the events of NodeAgent::adopt for several groups.
void add_events(const std::vector<agent::AdoptedGroup>& groups, const agent::GroupsAdopted& adopted,
                Events& events);

}  // namespace pinfold::verbs
