#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "commands.hpp"
#include "documents.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/agent/watch.hpp"
#include "pinfold/text/message.hpp"
#include "stop_signals.hpp"

namespace pinfold::tools {
namespace {

using std::chrono::milliseconds;

struct ReconcileOptions {
  AgentArguments agent;
  bool watch = false;
  int interval_s = 10;
};

void print(const agent::ReconcileReport& found, const std::optional<Error>& not_settled,
           OutputFormat format, bool watches) {
  if (format == OutputFormat::kJson) {
    fmt::print("{}", json_text(ReconcileDocument{found, not_settled}, watches ? -1 : 2));
  } else {
    if (found.drift.empty() && !watches) fmt::print("no drift\n");
    for (const std::string& line : found.drift) fmt::print("drift     {}\n", escaped(line));
    for (const enforce::Step& step : found.done)
      fmt::print("applied   {}\n", escaped(to_string(step)));
    for (const std::string& line : found.moved) fmt::print("applied   {}\n", escaped(line));
    for (const std::string& line : found.remaining) fmt::print("remaining {}\n", escaped(line));
    for (const std::string& line : found.notes) fmt::print("note      {}\n", escaped(line));
  }
  (void)std::fflush(stdout);
}

/// Runs one round, and sets `root` to the directory of the groups. With --watch, prints only drift.
Result<bool> reconcile_once(const ReconcileOptions& options, std::string& root) {
  PINFOLD_LET(auto session, AgentSession::open(options.agent));
  const auto pages = options.agent.moves_pages ? agent::PageMoves::kOn : agent::PageMoves::kOff;
  const auto reconciled = session.execute<agent::ReconcileReport>(verbs::Reconcile{pages});
  PINFOLD_LET(const auto not_settled, session.checkpoint_journal());  // even after a failure
  PINFOLD_LET(const auto& found, reconciled);
  root = session.view().enforced()->root();
  const auto changes = session.view().machine_changes();
  if (!options.watch && !changes.empty()) {
    warn(fmt::format(
        "the machine differs from the one in the state: {}; 'pinfold reconfigure' adapts "
        "the state",
        fmt::join(changes, "; ")));
  }
  const bool is_quiet =
      found.drift.empty() && found.done.empty() && found.moved.empty() && found.remaining.empty();
  if (!options.watch || !is_quiet) print(found, not_settled, options.agent.output, options.watch);
  return found.remaining.empty();
}

/// Waits for a change below a directory, a signal to end, or a timeout.
class Waiter {
 public:
  /// Returns false to end. Each call makes a new watch, so the round's own changes do not count.
  [[nodiscard]] bool wait(milliseconds timeout, const std::string& root) {
    const milliseconds least = agent::kLeastPause;
    if (stop_.wait(std::min(least, timeout))) return false;
    if (timeout <= least) return true;
    const UniqueFd changes = agent::watch_tree(root);
    pollfd fds[] = {{stop_.fd(), POLLIN, 0}, {changes.get(), POLLIN, 0}};
    (void)::poll(fds, 2, static_cast<int>((timeout - least).count()));
    return !stop_.wait(milliseconds(0));
  }

 private:
  StopSignals stop_;
};

Result<ExitStatus> run(const ReconcileOptions& options) {
  std::string root;
  if (!options.watch) {
    PINFOLD_LET(const bool is_good, reconcile_once(options, root));
    return is_good ? kYes : kNo;
  }
  Waiter waiter;
  const auto round = [&] {
    const auto is_good = reconcile_once(options, root);
    if (!is_good) (void)report(is_good.error());
    return is_good.value_or(false);
  };
  agent::WatchTimes times;
  times.interval = milliseconds(1000) * options.interval_s;
  const bool is_good = agent::watch(
      round, [&](milliseconds time) { return waiter.wait(time, root); }, times);
  return is_good ? kYes : kNo;
}

}  // namespace

cli::Command reconcile_command() {
  auto options = std::make_shared<ReconcileOptions>();
  options->agent.hides_warnings = true;
  cli::Command command{"reconcile", "Bring cgroups back to the desired state"};
  command.add(agent_arguments(options->agent));
  command.add(
      {output_option(options->agent.output),
       {"--move-pages", &options->agent.moves_pages, "Also move pages to the desired NUMA nodes"},
       release_unknown_option(options->agent),
       socket_option(options->agent),
       {"--watch", &options->watch, "Run until a signal arrives, and reconcile after every change"},
       {.name = "--interval",
        .target = cli::Integer{&options->interval_s, 1, 3600},
        .help = "With --watch: seconds between two rounds, 1 to 3600; doubles up to 300 while "
                "drift remains",
        .value = "SECONDS",
        .needs = "--watch"}});
  command.sections = {{"Examples",
                       {{"pinfold reconcile", "Correct the drift that pinfold status shows"},
                        {"pinfold reconcile --release-unknown",
                         "Also release the resources of pods of an earlier kubelet"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
