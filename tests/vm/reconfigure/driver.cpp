#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/reconfiguration.hpp"
#include "pinfold/discover/discover.hpp"
#include "recording_check.hpp"

/// Runs in a virtual machine with the state and the groups of the pinfold command, while programs
/// record into FOLDER. Exit status: 0, or 2 after an error. Verbs:
///
///     start FOLDER                         programs run: from now on it counts
///     change FOLDER NAME CONFIG OPTION...  `pinfold reconfigure OPTION...`, to CONFIG
///     unsafe FOLDER CONFIG                 the same in an order that overlaps
///     kill FOLDER TIMES CONFIG CONFIG      kills `pinfold reconfigure` at random instants
///     resize FOLDER TIMES POD CONTAINER CPUS CPUS   kills `pinfold resize` in the same way
///     settled FOLDER                       state, config.yaml, kernel and memory agree
///     check FOLDER                         what the recordings show
namespace pinfold::test {
namespace {

using agent::NodeAgent;

/// How long each step of an unsafe order lasts: long enough for others to run on these CPUs.
constexpr useconds_t kUnsafePause = 2'000'000;
constexpr const char* kConfigOfScenario = "/etc/pinfold/config.yaml";

Result<agent::StoredNode> read_stored() { return agent::read_stored_node(agent::AgentOptions{}); }

/// Opens the agent of the state directory, with the configuration of its state.
Result<NodeAgent> open(bool is_query, bool enforce) {
  PINFOLD_LET(auto stored, read_stored());
  agent::AgentOptions options;
  options.enforce = enforce;
  options.is_query = is_query;
  options.profile_source = agent::ProfileSource::kConfiguration;
  return agent::open_agent(std::move(stored.machine), std::move(stored.config), std::move(options));
}

Exclusive exclusive_in(const NodeAgent& agent) {
  Exclusive exclusive;
  for (const auto& [name, group] : agent.desired().layout) {
    if (name.is_pod() || group.isolation != Isolation::kContainer) continue;
    const ActivePod* const pod = agent.state().node.find(name.pod);
    exclusive[pod->spec.name + "/" + name.container] = group.cpus;
  }
  return exclusive;
}
Result<Exclusive> read_exclusive() {
  PINFOLD_LET(const auto agent, open(/*is_query=*/true, /*enforce=*/false));
  return exclusive_in(agent);
}

pid_t spawn(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  (void)std::fflush(stdout);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  (void)execvp(arguments.front(), arguments.data());
  _exit(127);
}
/// Returns the exit status; -1 for a command that was killed.
int wait_for(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

Result<void> run_command(const std::vector<std::string>& command) {
  const int status = wait_for(spawn(command));
  if (status == 0) return {};
  return fail(ErrorCode::kIo,
              fmt::format("'{}': exit status {}, expected 0", fmt::join(command, " "), status));
}

Result<void> start(const std::string& folder) {
  PINFOLD_LET(const auto exclusive, read_exclusive());
  const std::int64_t now = monotonic_now();
  return add_mark(folder, {"start", now, now, exclusive, exclusive});
}

/// Adds a mark from `begin` until now. The state before it is that after the previous mark.
Result<void> mark_since(const std::string& folder, const std::string& name, std::int64_t begin) {
  Mark mark{name, begin, monotonic_now(), {}, {}};
  PINFOLD_LET(const auto last, last_mark(folder));
  mark.before = last.after;
  PINFOLD_LET(mark.after, read_exclusive());
  return add_mark(folder, mark);
}

/// Reconfigures; the other steps of the scenario then use that configuration too.
Result<void> change(const std::string& folder, const std::string& name, const std::string& file,
                    const std::vector<std::string>& options) {
  std::vector<std::string> command{"pinfold", "reconfigure"};
  command.insert(command.end(), options.begin(), options.end());
  const std::int64_t begin = monotonic_now();
  PINFOLD_TRY(run_command(command));
  PINFOLD_TRY(mark_since(folder, name, begin));
  PINFOLD_LET(const auto stored, read_stored());
  PINFOLD_LET(auto parsed, agent::read_config("", file, checkpoint::OwnerCheck::kOn));
  parsed.config.profile = stored.config.profile;
  if (parsed.config != stored.config) {
    return fail(ErrorCode::kIo, fmt::format("the state is not for '{}'", file));
  }
  std::error_code failed;
  std::filesystem::copy_file(file, kConfigOfScenario,
                             std::filesystem::copy_options::overwrite_existing, failed);
  if (failed) return fail(ErrorCode::kIo, fmt::format("copy '{}': {}", file, failed.message()));
  fmt::print("{}: done\n", name);
  return {};
}

/// Commits, then gives each container its CPUs before another one has left them, exclusive ones
/// first.
Result<void> reconfigure_unsafely(const std::string& file) {
  PINFOLD_LET(auto agent, open(/*is_query=*/false, /*enforce=*/false));
  PINFOLD_LET(const auto parsed, agent::read_config("", file, checkpoint::OwnerCheck::kOn));
  PINFOLD_LET(auto to, agent::make_node(agent.node().machine(), parsed.config));
  PINFOLD_LET(const auto planned, agent::plan_reconfiguration(agent, to, PlanOptions{}));
  PINFOLD_TRY(
      agent.reconfigure(std::move(to), planned.plan.next, agent::RunningProcesses::kRefuse));
  PINFOLD_LET(const auto root, enforce::default_root());
  PINFOLD_LET(auto cgroups, enforce::open_cgroups(root));
  PINFOLD_LET(const CpuSet all, cgroups.machine_cpus());
  using enforce::Step;
  const enforce::Layout layout = agent.desired().layout;
  for (const auto& [name, group] : layout) {
    if (name.is_pod()) PINFOLD_TRY(cgroups.apply(Step{Step::Kind::kCpus, name, all, "", ""}));
  }
  for (const bool exclusive : {true, false}) {
    for (const auto& [name, group] : layout) {
      if (name.is_pod() || (group.isolation != Isolation::kHost) != exclusive) continue;
      PINFOLD_TRY(cgroups.apply(Step{Step::Kind::kCpus, name, group.cpus, "", ""}));
      (void)usleep(kUnsafePause);
    }
  }
  return {};
}

/// Checks that state, configuration file and kernel agree; adds the exclusive CPUs to `all`.
Result<void> check_settled(Exclusive& all) {
  PINFOLD_LET(const auto agent, open(/*is_query=*/true, /*enforce=*/true));
  PINFOLD_LET(const auto drift, agent.find_drift());
  if (!drift.empty()) {
    return fail(ErrorCode::kIo, fmt::format("drift: {}", fmt::join(drift, "; ")));
  }
  PINFOLD_LET(auto file,
              agent::read_config(agent::AgentOptions{}.state_dir, "", checkpoint::OwnerCheck::kOn));
  file.config.profile = agent.node().config().profile;
  if (file.config != agent.node().config()) {
    return fail(ErrorCode::kIo, "config.yaml differs from the configuration of the state");
  }
  for (const auto& [name, cpus] : exclusive_in(agent)) all[name] |= cpus;
  return {};
}

/// Also checks that the memory is on the containers' NUMA nodes.
Result<void> settled(const std::string& folder) {
  Exclusive ignored;
  PINFOLD_TRY(check_settled(ignored));
  PINFOLD_LET(const auto agent, open(/*is_query=*/true, /*enforce=*/false));
  for (const auto& [name, group] : agent.desired().layout) {
    if (name.is_pod() || group.mems.empty()) continue;
    const ActivePod* const pod = agent.state().node.find(name.pod);
    const std::string program = pod->spec.name + "/" + name.container;
    PINFOLD_LET(const CpuSet nodes, nodes_of_memory(folder, program));
    if (!group.mems.contains_all(nodes)) {
      return fail(ErrorCode::kIo, fmt::format("'{}': memory is on NUMA nodes {}, expected {}",
                                              program, nodes.to_string(), group.mems.to_string()));
    }
    fmt::print("{}: CPUs {}, memory on NUMA nodes {}\n", program, group.cpus.to_string(),
               nodes.to_string());
  }
  return {};
}

std::int64_t since(std::int64_t begin) { return monotonic_now() - begin; }

using Command = std::vector<std::string>;

/// A change that is killed, and what may follow the kill.
struct Change {
  Command command;
  Command back;
};

Result<void> kill_again_and_again(int times, const std::array<Change, 2>& changes,
                                  std::string_view what, Exclusive& all) {
  PINFOLD_TRY(check_settled(all));
  const std::int64_t begin = monotonic_now();
  PINFOLD_TRY(run_command(changes[1].command));
  const std::int64_t took = since(begin);
  PINFOLD_TRY(check_settled(all));
  std::mt19937 random(20260611);  // NOLINT(cert-msc51-cpp): the same sequence every time
  int killed = 0;
  int undone = 0;
  for (int i = 0; i < times; ++i) {
    const Change& change = changes.at(static_cast<std::size_t>(i) % changes.size());
    const pid_t pid = spawn(change.command);
    (void)usleep(
        static_cast<useconds_t>(took / 1000 * static_cast<std::int64_t>(random() % 100) / 100));
    (void)kill(pid, SIGKILL);
    if (wait_for(pid) == -1) ++killed;
    const bool undo = random() % 2 == 0;
    if (undo) ++undone;
    PINFOLD_TRY(run_command(undo ? change.back : change.command));
    PINFOLD_TRY_WRAP(check_settled(all), fmt::format("after kill {}", i));
  }
  fmt::print("{} {}, {} killed, {} undone\n", times, what, killed, undone);
  if (killed < times / 2) return fail(ErrorCode::kIo, "too few were killed");
  return {};
}

Change reconfiguration_to(const std::string& config) {
  return {{"pinfold", "reconfigure", "--config", config}, {"pinfold", "reconfigure", "--undo"}};
}
Change resize_to(const Command& resize, const std::string& cpus, const std::string& back) {
  Change change{resize, resize};
  change.command.push_back(cpus);
  change.back.push_back(back);
  return change;
}

/// Adds one mark for the whole loop, with the CPUs that a program has exclusively in one of its
/// states.
Result<void> kill_loop(const std::string& folder, int times, const std::array<Change, 2>& changes,
                       std::string_view what) {
  Exclusive all;
  const std::int64_t begin = monotonic_now();
  PINFOLD_TRY(kill_again_and_again(times, changes, what, all));
  const std::int64_t end = monotonic_now();
  PINFOLD_LET(const auto after, read_exclusive());
  return add_mark(folder, {"kills", begin, end, all, after});
}

Result<void> check(const std::string& folder) {
  PINFOLD_LET(const auto checked, check_recordings(folder));
  for (const ProgramReport& program : checked.programs) {
    fmt::print("{}\n", program.text);
    std::string name = program.name;
    std::replace(name.begin(), name.end(), '/', '.');
    std::ofstream out(fmt::format("{}/{}.pause", folder, name));
    out << fmt::format("{:.1f}\n", program.longest_pause);
    if (!out.flush()) return fail(ErrorCode::kIo, fmt::format("write '{}.pause'", name));
  }
  for (const std::string& line : checked.violations) fmt::print("violation: {}\n", line);
  fmt::print("{} violations\n", checked.violations.size());
  return {};
}

Result<void> run(const std::vector<std::string>& words) {
  const std::string verb = words.empty() ? "" : words.front();
  if (verb == "start" && words.size() == 2) return start(words[1]);
  if (verb == "check" && words.size() == 2) return check(words[1]);
  if (verb == "settled" && words.size() == 2) return settled(words[1]);
  if (verb == "unsafe" && words.size() == 3) {
    const std::int64_t begin = monotonic_now();
    PINFOLD_TRY(reconfigure_unsafely(words[2]));
    return mark_since(words[1], verb, begin);
  }
  if (verb == "kill" && words.size() == 5) {
    return kill_loop(words[1], std::stoi(words[2]),
                     {reconfiguration_to(words[3]), reconfiguration_to(words[4])},
                     "reconfigurations");
  }
  if (verb == "resize" && words.size() == 7) {
    const Command resize = {"pinfold", "resize", words[3], "--container", words[4], "--cpu"};
    return kill_loop(words[1], std::stoi(words[2]),
                     {resize_to(resize, words[5], words[6]), resize_to(resize, words[6], words[5])},
                     "resizes");
  }
  if (verb == "change" && words.size() > 4) {
    return change(words[1], words[2], words[3], {words.begin() + 4, words.end()});
  }
  return fail(ErrorCode::kInvalidArgument, "usage: start|change|unsafe|kill|resize|check|settled");
}

}  // namespace
}  // namespace pinfold::test

// NOLINTNEXTLINE(bugprone-exception-escape): an exception fails the scenario
int main(int argc, char** argv) {
  const auto done = pinfold::test::run({argv + 1, argv + argc});
  if (done) return 0;
  fmt::print("failed: {}\n", done.error().message);
  return 2;
}
