#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/agent_session.hpp"
#include "pinfold/picture/svg.hpp"
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

/// Executes `action` (Reconfigure or Defragment) in a session. Prints a warning if the kubelet's
/// files could not be written.
/// Errors: those of the action, of `own.open` and of Client::connect; kInvalidArgument if an option
/// contradicts those of the service.
[[nodiscard]] Result<AnsweredReconfigure> reconfigure_node(const AgentArguments& options,
                                                           const verbs::Action& action,
                                                           OwnAgent own);

}  // namespace pinfold::tools
