#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent_session.hpp"
#include "picture_svg.hpp"
#include "pinfold/agent/reconfigure.hpp"

namespace pinfold::tools {

/// What a command has planned or applied.
struct AnsweredReconfigure {
  agent::NodeParts from;  ///< before
  agent::Reconfigured outcome;

  /// The node before and after. Errors: those of agent::make_node.
  [[nodiscard]] Result<std::vector<SvgPanel>> panels() const;
};

/// What is drawn of it.
struct Drawing {
  bool picture = false;  ///< in the terminal
  std::string svg;       ///< file; "": none
};
/// Errors: those of AnsweredReconfigure::panels and write_svg.
[[nodiscard]] Result<void> draw(const Drawing& drawing, const std::string& title,
                                const AnsweredReconfigure& done);

/// How a command does it itself.
struct OwnAgent {
  std::function<Result<agent::NodeAgent>()> open;
  agent::NodeSource source;
  bool is_required = false;  ///< the service is not asked
  /// Whether the options contradict what a service runs with.
  std::function<Result<void>(const service::Hello& hello)> check;
};

/// Lets the service do `action`, Reconfigure or Defragment, if one has the state directory; else
/// opens an agent. If the service stops before, goes on with the next one or without it. Prints a
/// warning if the kubelet's files could not be written.
/// Errors: those of the action, of `own.open` and of Client::connect; kInvalidArgument if an option
/// contradicts what the service runs with.
[[nodiscard]] Result<AnsweredReconfigure> reconfigure_node(const AgentOptions& options,
                                                           const service::Action& action,
                                                           const OwnAgent& own);

}  // namespace pinfold::tools
