#include "reconfigure/reconfigure_drawing.hpp"

#include <fmt/format.h>

#include <utility>

#include "node/status_picture.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/outcome.hpp"
#include "reconfigure/reconfigure_text.hpp"

namespace pinfold::tools {

Result<std::vector<SvgPanel>> AnsweredReconfigure::panels() const {
  PINFOLD_LET(const auto before, agent::make_node(from.machine, from.config));
  const verbs::NodeParts& parts = outcome.other_node ? *outcome.other_node : from;
  PINFOLD_LET(const auto after, agent::make_node(parts.machine, parts.config));
  return panels_of(before, after, outcome.planned);
}

Result<void> draw(const Drawing& drawing, const std::string& title,
                  const AnsweredReconfigure& done) {
  if (!drawing.picture && drawing.svg.empty()) return {};
  PINFOLD_LET(const auto panels, done.panels());
  if (drawing.picture) fmt::print("\n{}", pictures(panels));
  return drawing.svg.empty() ? Result<void>() : write_svg(drawing.svg, title, panels);
}

Result<AnsweredReconfigure> reconfigure_node(const AgentArguments& options,
                                             const verbs::Action& action, OwnAgent own) {
  PINFOLD_LET(auto session, AgentSession::open(options, std::move(own)));
  verbs::NodeParts from = session.node_parts();
  PINFOLD_LET(auto outcome, session.execute<verbs::Reconfigured>(action));
  if (session.uses_service()) return AnsweredReconfigure{session.node_parts(), std::move(outcome)};
  if (outcome.is_applied) PINFOLD_TRY(session.checkpoint_journal());
  return AnsweredReconfigure{std::move(from), std::move(outcome)};
}

}  // namespace pinfold::tools
