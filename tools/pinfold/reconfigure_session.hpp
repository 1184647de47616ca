#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent_session.hpp"
#include "picture_svg.hpp"
#include "pinfold/verbs/reconfigure.hpp"

namespace pinfold::tools {

/// A plan that a command has made or applied.
struct AnsweredReconfigure {
  verbs::NodeParts from;  ///< before
  verbs::Reconfigured outcome;

  /// Returns the node before and after. Errors: those of agent::make_node.
  [[nodiscard]] Result<std::vector<SvgPanel>> panels() const;
};

/// How to draw it.
struct Drawing {
  bool picture = false;  ///< in the terminal
  std::string svg;       ///< file; "": none
};
/// Draws the node before and after. Errors: those of AnsweredReconfigure::panels and write_svg.
[[nodiscard]] Result<void> draw(const Drawing& drawing, const std::string& title,
                                const AnsweredReconfigure& done);

/// How a command works without a service.
struct OwnAgent {
  std::function<Result<agent::NodeAgent>()> open;
  verbs::NodeSource source;
  bool is_required = false;  ///< the service is not asked
  /// Checks that the options do not contradict those of a service.
  std::function<Result<void>(const socket::Hello& hello)> check;
};

/// Executes `action` (Reconfigure or Defragment) in the service, if one has the state directory;
/// else opens an agent. If the service stops first, continues with the next one or without. Prints
/// a warning if the kubelet's files could not be written.
/// Errors: those of the action, of `own.open` and of Client::connect; kInvalidArgument if an option
/// contradicts those of the service.
[[nodiscard]] Result<AnsweredReconfigure> reconfigure_node(const AgentOptions& options,
                                                           const verbs::Action& action,
                                                           const OwnAgent& own);

}  // namespace pinfold::tools
