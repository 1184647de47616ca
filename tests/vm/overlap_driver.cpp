#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "pinfold/agent/open_agent.hpp"
#include "pinfold/discover/discover.hpp"

/// Runs in a virtual machine with the state and the groups of the pinfold command: admits and
/// removes mixed pods as fast as it can, and records the exclusive CPUs in a file.
///
///     overlap-driver OPERATIONS SAFE|UNSAFE FILE
///
/// UNSAFE assigns exclusive CPUs before it removes them from others, as the kubelet does: then the
/// sampler must observe an overlap. Exit status: 0, or 2 after an error.
namespace pinfold {
namespace {

using enforce::GroupName;
using enforce::Layout;
using enforce::Step;

void give(Container& container, const char* cpu, const char* memory) {
  container.resources.limits = {{"cpu", Quantity::parse(cpu).value()},
                                {"memory", Quantity::parse(memory).value()}};
  container.resources.requests = container.resources.limits;
}

/// A pod of one of five kinds.
PodSpec make_pod(int number, std::mt19937& random) {
  const std::string name = fmt::format("n{}", number);
  PodSpec pod{PodUid(name), name, "default", {}, {}};
  const auto add = [&](const char* container, const char* cpu) {
    pod.containers.push_back({container, ContainerKind::kApp, {}});
    if (cpu != nullptr) give(pod.containers.back(), cpu, "8Mi");
  };
  switch (random() % 5) {
    case 0:  // shared
      add("s", nullptr);
      break;
    case 1:
      add("x1", random() % 2 == 0 ? "1" : "2");
      break;
    case 2:  // mixed
      add("x1", "1");
      add("s", "500m");
      break;
    case 3:
      add("x1", "1");
      add("x2", "1");
      break;
    default:  // CPUs for the pod: one container has exclusive ones, two share the rest
      add("x1", "1");
      add("p1", nullptr);
      add("p2", nullptr);
      pod.resources = Resources{};
      pod.resources->limits = {{"cpu", Quantity::parse("3").value()},
                               {"memory", Quantity::parse("32Mi").value()}};
      pod.resources->requests = pod.resources->limits;
  }
  return pod;
}

Result<agent::NodeAgent> open(bool enforce) {
  PINFOLD_LET(auto machine, discover(SysTree{}, "node"));
  agent::AgentOptions options;
  options.enforce = enforce;
  PINFOLD_LET(auto config, agent::read_config(options.state_dir, "/etc/pinfold/config.yaml",
                                              checkpoint::OwnerCheck::kOn));
  return open_agent(std::move(machine), std::move(config.config), options);
}

/// Applies a change without the safe order: first what the pod gains, then what others lose.
Result<void> apply_unsafely(enforce::Cgroups& cgroups, const Layout& before, const Layout& after,
                            const PodUid& uid) {
  PINFOLD_LET(auto cpus, cgroups.machine_cpus());
  PINFOLD_LET(auto steps, plan(before, after, cpus));
  std::stable_partition(steps.begin(), steps.end(),
                        [&](const Step& step) { return step.group.pod == uid; });
  bool has_paused = false;
  for (const Step& step : steps) {
    if (!has_paused && step.group.pod != uid) {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      has_paused = true;
    }
    if (step.kind == Step::Kind::kVerify) continue;
    PINFOLD_TRY(cgroups.apply(step));
  }
  return {};
}

/// The lines that stopSampling reads.
void note_exclusive(const Layout& layout, const PodUid& uid, std::ofstream& out) {
  CpuSet of_pod;
  for (const auto& [name, group] : layout) {
    if (name.pod != uid || name.is_pod()) continue;
    if (group.isolation == Isolation::kPod) of_pod |= group.cpus;
    if (group.isolation != Isolation::kContainer) continue;
    out << to_string(name) << ' ' << group.cpus.to_string() << '\n';
  }
  if (!of_pod.empty()) out << to_string(GroupName(uid)) << ' ' << of_pod.to_string() << '\n';
}

struct Tally {
  int admitted = 0;
  int rejected = 0;
  int removed = 0;
};

Result<Tally> drive(agent::NodeAgent& agent, enforce::Cgroups* unsafe, int operations,
                    std::ofstream& exclusive) {
  std::mt19937 random(20240607);  // NOLINT(cert-msc51-cpp): the same sequence every time
  std::vector<PodUid> active;
  Tally tally;
  for (int i = 0; i < operations; ++i) {
    const Layout before = agent.desired().layout;
    const bool is_removal = !active.empty() && (random() % 2 == 0 || active.size() > 8);
    PodUid uid(fmt::format("n{}", i));
    if (is_removal) {
      const auto victim = active.begin() + static_cast<std::ptrdiff_t>(random() % active.size());
      uid = *victim;
      PINFOLD_LET(auto done, agent.remove_pod(uid, agent::RunningProcesses::kRefuse));
      if (done.not_enforced) return fail(*std::move(done.not_enforced));
      active.erase(victim);
      ++tally.removed;
    } else {
      auto done = agent.admit(make_pod(i, random));
      if (!done) return fail(std::move(done).error());
      if (done->not_enforced) return fail(*std::move(done->not_enforced));
      ++(done->rejection ? tally.rejected : tally.admitted);
      if (!done->rejection) active.push_back(uid);
      note_exclusive(agent.desired().layout, uid, exclusive);
    }
    if (unsafe == nullptr) continue;
    PINFOLD_TRY(apply_unsafely(*unsafe, before, agent.desired().layout, uid));
  }
  return tally;
}

int run(int operations, bool unsafe, const char* file) {
  const auto failed = [](const Error& error) {
    fmt::print("failed: {}\n", error.message);
    return 2;
  };
  auto agent = open(!unsafe);
  if (!agent) return failed(agent.error());
  std::optional<enforce::Cgroups> cgroups;
  if (unsafe) {
    auto root = enforce::default_root();
    if (!root) return failed(root.error());
    auto opened = enforce::open_cgroups(*root);
    if (!opened) return failed(opened.error());
    cgroups = *std::move(opened);
  }
  std::ofstream exclusive(file);
  const auto tally = drive(*agent, cgroups ? &*cgroups : nullptr, operations, exclusive);
  if (!tally) return failed(tally.error());
  fmt::print("{} admitted, {} rejected, {} removed\n", tally->admitted, tally->rejected,
             tally->removed);
  return exclusive.flush() ? 0 : 2;
}

}  // namespace
}  // namespace pinfold

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return pinfold::run(std::atoi(argv[1]), std::strcmp(argv[2], "UNSAFE") == 0, argv[3]);
}
