#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <set>
#include <utility>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "commands.hpp"
#include "documents.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/quiet/kept_knobs.hpp"
#include "pinfold/quiet/knob_store.hpp"
#include "pinfold/quiet/quiet_knobs.hpp"

namespace pinfold::tools {
namespace {

struct QuietOptions {
  AgentArguments agent;
  bool restores = false;
};

/// Reads what the knobs of a record have now. What cannot be read is left out.
quiet::KnobValues values_now(const quiet::KeptKnobs& kept) {
  std::set<quiet::KnobKind> kinds;
  quiet::KnobValues values;
  const auto store = quiet::kernel_knobs("");
  for (const auto& [knob, one] : kept) {
    if (!isolates(knob.kind)) {
      kinds.insert(knob.kind);
    } else if (auto value = store->read_one(knob)) {
      values.emplace(knob, *std::move(value));
    }
  }
  for (const quiet::KnobKind kind : kinds) {
    const auto read = store->read(kind, values);
    if (!read) warn(read.error().message);
  }
  return values;
}

QuietDocument document_of(const quiet::KeptKnobs& kept, bool is_restored) {
  QuietDocument document{is_restored, {}};
  const auto now = values_now(kept);
  for (const auto& [knob, one] : kept) {
    const auto value = now.find(knob);
    document.knobs.push_back(
        {knob, one, value == now.end() ? std::nullopt : std::optional(value->second)});
  }
  return document;
}

std::string knobs_text(const QuietDocument& document) {
  if (document.knobs.empty()) {
    return document.is_restored ? "restored: no changed values remain\n"
                                : "no values have been changed to quiet CPUs\n";
  }
  TextTable table({{"KIND"}, {"NAME"}, {"BEFORE"}, {"NOW"}, {"OURS"}});
  for (const QuietedKnob& one : document.knobs) {
    table.add({std::string(to_string(one.knob.kind)), one.knob.name, one.kept.before,
               one.now.value_or("?"), fmt::format("{}", fmt::join(one.kept.ours, ", "))});
  }
  return table.render(terminal_style());
}

void print(const QuietOptions& options, const QuietDocument& document) {
  fmt::print("{}", options.agent.output == OutputFormat::kJson ? json_text(document)
                                                               : knobs_text(document));
}

Result<ExitStatus> show(const QuietOptions& options) {
  AgentArguments query = options.agent;
  query.is_query = true;
  query.no_enforce = true;  // the record and the knobs are no control groups
  PINFOLD_LET(const auto agent, open_agent(query));
  print(options, document_of(agent.kept_knobs(), false));
  return kYes;
}

Result<ExitStatus> restore(const QuietOptions& options) {
  auto agent = open_agent(options.agent);
  if (!agent) {
    Error error = std::move(agent).error();
    if (error.code == ErrorCode::kBusy) {
      error.message +=
          "; if the service runs: stop it and run this again, or write 'quiet: off' into its "
          "settings and restart it, which restores as well";
    }
    return fail(std::move(error));
  }
  note_change();
  const auto report = agent->restore_knobs();
  for (const auto& [knob, unquiet] : report.unquiet) warn(unquiet.error.message);
  for (const auto& [kind, error] : report.unread) {
    warn(fmt::format("{}: {}", to_string(kind), error.message));
  }
  const auto document = document_of(agent->kept_knobs(), true);
  print(options, document);
  return document.knobs.empty() ? kYes : kNo;
}

}  // namespace

cli::Command quiet_command() {
  auto options = std::make_shared<QuietOptions>();
  cli::Command command{"quiet",
                       "Show what was changed to make CPUs quiet (interrupts, queues, services, "
                       "kernel threads, partitions), or restore it"};
  command.add(agent_arguments(options->agent));
  command.add(
      {output_option(options->agent.output),
       {"--restore", &options->restores,
        "Restore the original values, except those that another program has changed since"}});
  command.sections = {
      {"Examples",
       {{"pinfold quiet",
         "List the values that the 'quiet' setting has changed, with the original ones"},
        {"pinfold quiet --restore",
         "Restore the original values after the service has been removed"}}}};
  command.run = [options] {
    return exit_status(options->restores ? restore(*options) : show(*options));
  };
  return command;
}

}  // namespace pinfold::tools
