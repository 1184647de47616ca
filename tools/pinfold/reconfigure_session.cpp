#include "reconfigure_session.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/outcome.hpp"
#include "reconfigure_text.hpp"
#include "status_picture.hpp"

namespace pinfold::tools {
namespace {

using verbs::Reconfigured;

/// How long a command retries while services stop one after another.
constexpr std::chrono::seconds kStopTime(30);

Result<Reconfigured> outcome_of(Result<verbs::Answer> answer) {
  PINFOLD_LET(auto done, std::move(answer));
  if (auto* const outcome = std::get_if<Reconfigured>(&done)) return std::move(*outcome);
  return fail(ErrorCode::kInternal, "the service gave another kind of answer");
}

Result<AnsweredReconfigure> ask(socket::Client& client, const OwnAgent& own,
                                const verbs::Action& action) {
  const socket::Hello& hello = client.hello();
  PINFOLD_TRY(own.check(hello));
  PINFOLD_LET(auto outcome, outcome_of(client.call(action, checkpoint::Store::kLockTimeout)));
  return AnsweredReconfigure{{hello.machine, hello.config}, std::move(outcome)};
}

Result<AnsweredReconfigure> do_it(agent::NodeAgent agent, const verbs::Action& action,
                                  const verbs::NodeSource& source) {
  verbs::NodeParts from{agent.node().machine(), agent.node().config()};
  PINFOLD_LET(auto outcome,
              changing([&] { return outcome_of(verbs::execute(agent, action, source)); }));
  if (outcome.is_applied) {
    note_change();
    if (const auto settled = agent.settle(); !settled) {
      warn(agent::describe_not_settled(settled.error()), "not settled");
    }
  }
  return AnsweredReconfigure{std::move(from), std::move(outcome)};
}

/// Connects to the service of the state directory; nullopt if none runs.
Result<std::optional<socket::Client>> find_service(const AgentOptions& options) {
  PINFOLD_LET(auto client, socket::Client::connect(options.socket));
  if (client && !is_same_directory(client->hello().state_dir, options.state_dir)) client.reset();
  return client;
}

}  // namespace

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

Result<AnsweredReconfigure> reconfigure_node(const AgentOptions& options,
                                             const verbs::Action& action, const OwnAgent& own) {
  const auto end = std::chrono::steady_clock::now() + kStopTime;
  std::optional<Error> locked;
  while (!own.is_required) {
    PINFOLD_LET(auto client, find_service(options));
    if (client) {
      auto done = ask(*client, own, action);
      const bool is_over = std::chrono::steady_clock::now() >= end;
      if (done && done->outcome.is_applied) note_change();
      if (done || !worker::is_stopping(done.error()) || is_over) return done;
      locked.reset();
      continue;
    }
    if (locked) return fail(*std::move(locked));
    auto agent = own.open();
    if (agent) return do_it(*std::move(agent), action, own.source);
    if (agent.error().code != ErrorCode::kBusy) return fail(std::move(agent).error());
    locked = std::move(agent).error();  // a service may have started meanwhile
  }
  PINFOLD_LET(auto agent, own.open());
  return do_it(std::move(agent), action, own.source);
}

}  // namespace pinfold::tools
