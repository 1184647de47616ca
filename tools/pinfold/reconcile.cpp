#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "agent_options.hpp"
#include "pinfold/agent/watch.hpp"

namespace pinfold::tools {
namespace {

using std::chrono::milliseconds;

struct ReconcileOptions {
  AgentOptions agent;
  bool watch = false;
  int interval_s = 10;
};

void print(const agent::ReconcileReport& found, OutputFormat format, bool watches) {
  if (format == OutputFormat::kJson) {
    fmt::print("{}\n", to_json(found).dump(watches ? -1 : 2));
  } else {
    if (found.drift.empty() && !watches) fmt::print("nothing to repair\n");
    for (const std::string& line : found.drift) fmt::print("found     {}\n", line);
    for (const enforce::Step& step : found.done) fmt::print("did       {}\n", to_string(step));
    for (const std::string& line : found.moved) fmt::print("did       {}\n", line);
    for (const std::string& line : found.remaining) fmt::print("remaining {}\n", line);
  }
  (void)std::fflush(stdout);
}

/// One reconciliation; `root` is where the groups are. A watcher says nothing of a good round.
Result<bool> reconcile_once(const ReconcileOptions& options, std::string& root) {
  PINFOLD_LET(auto agent, open_agent(options.agent));
  PINFOLD_LET(auto found, agent.reconcile());
  root = agent.cgroups()->root();
  const bool is_quiet =
      found.drift.empty() && found.done.empty() && found.moved.empty() && found.remaining.empty();
  if (!options.watch || !is_quiet) print(found, options.agent.output, options.watch);
  return found.remaining.empty();
}

/// Waits for a change below a directory, for a signal to end, or for time to pass.
class Waiter {
 public:
  Waiter() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    signals_ = ::signalfd(-1, &signals, SFD_CLOEXEC);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() { ::close(signals_); }

  /// False: end. The watch is made anew each time, so that what a round did itself does not count.
  [[nodiscard]] bool wait(milliseconds timeout, const std::string& root) const {
    // However often somebody else writes: not more than one round a second.
    const milliseconds least(1000);
    if (is_signalled(std::min(least, timeout))) return false;
    if (timeout <= least) return true;
    const int changes = ::inotify_init1(IN_CLOEXEC);
    watch(changes, root);
    pollfd fds[] = {{signals_, POLLIN, 0}, {changes, POLLIN, 0}};
    (void)::poll(fds, 2, static_cast<int>((timeout - least).count()));
    ::close(changes);
    return fds[0].revents == 0;
  }

 private:
  [[nodiscard]] bool is_signalled(milliseconds timeout) const {
    pollfd fd{signals_, POLLIN, 0};
    return ::poll(&fd, 1, static_cast<int>(timeout.count())) > 0;
  }
  static void watch(int changes, const std::string& root) {
    namespace fs = std::filesystem;
    constexpr std::uint32_t kEvents = IN_MODIFY | IN_CREATE | IN_DELETE;
    (void)::inotify_add_watch(changes, root.c_str(), kEvents);
    std::error_code failed;
    constexpr auto kOptions = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator it(root, kOptions, failed), end; !failed && it != end;
         it.increment(failed)) {
      if (it->is_directory(failed)) {
        (void)::inotify_add_watch(changes, it->path().c_str(), kEvents);
      }
    }
  }

  int signals_ = -1;
};

int run(const ReconcileOptions& options) {
  std::string root;
  if (!options.watch) {
    const auto is_good = reconcile_once(options, root);
    if (!is_good) return report(is_good.error());
    return *is_good ? kYes : kNo;
  }
  const Waiter waiter;
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

void add_reconcile(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ReconcileOptions>();
  CLI::App* const command =
      app.add_subcommand("reconcile", "Repair whatever in the kernel is not as decided");
  add_agent_options(*command, options->agent);
  command->add_flag("--move-pages", options->agent.moves_pages,
                    "Also move memory that lies on other nodes than decided");
  auto* const watch = command->add_flag("--watch", options->watch,
                                        "Go on until a signal, and look again at every change");
  command
      ->add_option("--interval", options->interval_s,
                   "With --watch: seconds between two looks; doubles up to 300 while something "
                   "cannot be repaired")
      ->check(CLI::Range(1, 3600))
      ->needs(watch)
      ->capture_default_str();
  command->callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace pinfold::tools
