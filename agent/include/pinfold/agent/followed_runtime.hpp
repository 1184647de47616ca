#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pinfold/agent/node_agent.hpp"

namespace pinfold::agent {

/// The functions of an agent that only the follower of a container runtime calls, because only it
/// knows the runtime's groups. Borrows the agent.
class FollowedRuntime {
 public:
  explicit FollowedRuntime(NodeAgent& agent) : agent_(agent) {}

  /// Sets where the runtime has groups. From now on, keeps groups there that no container has
  /// adopted off exclusive CPUs. Does nothing if the agent enforces nothing.
  void set_search(enforce::ForeignSearch search);
  /// Keeps foreign groups off exclusive CPUs now. See EnforcedLayout::confine_foreign.
  /// Errors: kUnsupported if the agent enforces nothing; kIo.
  [[nodiscard]] Result<CpuSet> confine(const std::string& also = "");
  /// Returns what has happened to foreign groups since the last call.
  [[nodiscard]] std::vector<ConfinedNews> take_news();
  /// Sets the CFS quota of a pod's group that the runtime has made.
  /// Errors: kUnsupported if the agent enforces nothing; kNotFound, kIo.
  [[nodiscard]] Result<void> set_quota(const std::string& directory,
                                       const enforce::CpuQuota& quota);

 private:
  NodeAgent& agent_;
};

}  // namespace pinfold::agent
