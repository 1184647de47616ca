#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "pinfold/discover/discover.hpp"
#include "pinfold/enforce/open_agent.hpp"

/// Runs in a virtual machine: admits and removes mixed pods as fast as it can, while a second
/// thread looks at every cpuset, and tells whether it ever saw an exclusive CPU in the effective
/// set of another container.
///
///     overlap-driver OPERATIONS SAFE|UNSAFE
///
/// UNSAFE gives exclusive CPUs away before it takes them from others, as the kubelet does: then the
/// sampler must find something, or it is worth nothing. Exit status: 0 no overlap, 1 overlap,
/// 2 something else went wrong.
namespace pinfold {
namespace {

using enforce::GroupName;
using enforce::Layout;
using enforce::Step;

constexpr const char* kRoot = "/sys/fs/cgroup/overlap";
constexpr const char* kRootV1 = "/sys/fs/cgroup/cpuset/overlap";

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::string text;
  std::getline(in, text);
  return text;
}

std::vector<std::string> folders(const std::string& path) {
  std::vector<std::string> names;
  DIR* const dir = ::opendir(path.c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = ::readdir(dir)) {  // NOLINT(concurrency-mt-unsafe): own stream
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(dir);
  return names;
}

/// Looks at all effective sets, over and over. By their names: "x..." has CPUs for itself, "p..."
/// shares them with its pod, all others share the pool. The reserved CPU is never exclusive, and a
/// container on its way to CPUs of its own waits on a set that contains it.
class Sampler {
 public:
  Sampler(std::string root, bool v1, CpuId reserved)
      : root_(std::move(root)),
        file_(v1 ? "cpuset.effective_cpus" : "cpuset.cpus.effective"),
        reserved_(reserved) {}

  void run(const std::atomic<bool>& stop) {
    while (!stop) look();
  }
  [[nodiscard]] std::size_t looks() const { return looks_; }
  [[nodiscard]] std::size_t overlaps() const { return overlaps_; }
  [[nodiscard]] std::size_t owners() const { return owners_; }
  [[nodiscard]] const std::string& example() const { return example_; }

 private:
  struct Seen {
    std::string pod;
    std::string container;
    CpuSet cpus;
  };

  [[nodiscard]] CpuSet effective(const std::string& pod, const std::string& container) const {
    const std::string text = read_file(fmt::format("{}/{}/{}/{}", root_, pod, container, file_));
    auto set = CpuSet::parse(text);
    return set ? *std::move(set) : CpuSet{};
  }
  [[nodiscard]] bool owns(const Seen& seen) const {
    return (seen.container[0] == 'x' || seen.container[0] == 'p') && !seen.cpus.empty() &&
           !seen.cpus.contains(reserved_);
  }

  void look() {
    ++looks_;
    std::vector<Seen> all;
    for (const std::string& pod : folders(root_)) {
      for (const std::string& container : folders(root_ + "/" + pod)) {
        all.push_back({pod, container, effective(pod, container)});
      }
    }
    for (const Seen& owner : all) {
      if (!owns(owner)) continue;
      ++owners_;
      for (const Seen& other : all) {
        const bool is_allowed =
            &other == &owner ||
            (owner.container[0] == 'p' && other.container[0] == 'p' && other.pod == owner.pod);
        if (!is_allowed && other.cpus.intersects(owner.cpus)) confirm(owner, other);
      }
    }
  }

  /// The sets were not read at one moment: it counts only if the other one has the CPUs between two
  /// looks that show them with the owner, whose name nobody had before.
  void confirm(const Seen& owner, const Seen& other) {
    const Seen before{owner.pod, owner.container, effective(owner.pod, owner.container)};
    const CpuSet between = effective(other.pod, other.container);
    const Seen after{owner.pod, owner.container, effective(owner.pod, owner.container)};
    if (!owns(before) || before.cpus != after.cpus || !between.intersects(after.cpus)) return;
    ++overlaps_;
    example_ = fmt::format("{}/{} had {} while {}/{} had {}", owner.pod, owner.container,
                           after.cpus.to_string(), other.pod, other.container, between.to_string());
  }

  std::string root_;
  const char* file_;
  CpuId reserved_;
  std::size_t looks_ = 0;
  std::size_t owners_ = 0;
  std::size_t overlaps_ = 0;
  std::string example_;
};

void give(Container& container, const char* cpu, const char* memory) {
  container.resources.limits = {{"cpu", Quantity::parse(cpu).value()},
                                {"memory", Quantity::parse(memory).value()}};
  container.resources.requests = container.resources.limits;
}

/// A pod of one of five kinds.
PodSpec make_pod(int number, std::mt19937& random) {
  const std::string name = fmt::format("n{}", number);
  PodSpec pod{name, name, "default", {}, {}};
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
    default:  // CPUs for the pod: one container has its own, two share the rest
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

Result<enforce::NodeAgent> open(const std::string& root, bool enforces) {
  auto machine = discover(SysTree{"/"}, "node");
  if (!machine) return fail(std::move(machine).error());
  auto config = parse_config(
      "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
      "topologyManagerPolicy: best-effort\ntopologyManagerScope: pod\n"
      "featureGates: {PodLevelResources: true, PodLevelResourceManagers: true}\n");
  if (!config) return fail(std::move(config).error());
  auto node = Node::make(*std::move(machine), std::move(config->config));
  if (!node) return fail(ErrorCode::kInvalidArgument, node.error().error);
  enforce::AgentPlace place;
  place.state_dir = "/tmp/overlap-state";
  place.cgroup_root = root;
  place.enforces = enforces;
  return open_agent(*std::move(node), place);
}

/// What an agent without its order would do: first what the pod gets, then what others lose.
Result<void> apply_unsafely(enforce::Cgroups& cgroups, const Layout& before, const Layout& after,
                            const std::string& uid) {
  auto cpus = cgroups.machine_cpus();
  if (!cpus) return fail(std::move(cpus).error());
  auto steps = plan(before, after, *cpus);
  if (!steps) return fail(std::move(steps).error());
  std::stable_partition(steps->begin(), steps->end(),
                        [&](const Step& step) { return step.group.pod_uid == uid; });
  bool has_paused = false;
  for (const Step& step : *steps) {
    if (!has_paused && step.group.pod_uid != uid) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      has_paused = true;
    }
    if (step.kind == Step::Kind::kVerify) continue;
    if (auto done = cgroups.apply(step); !done) return done;
  }
  return {};
}

struct Tally {
  int admitted = 0;
  int rejected = 0;
  int removed = 0;
};

Result<Tally> drive(enforce::NodeAgent& agent, enforce::Cgroups* unsafe, int operations) {
  std::mt19937 random(20240607);  // NOLINT(cert-msc51-cpp): the same sequence every time
  std::vector<std::string> active;
  Tally tally;
  for (int i = 0; i < operations; ++i) {
    const Layout before = agent.wanted();
    const bool is_removal = !active.empty() && (random() % 2 == 0 || active.size() > 8);
    std::string uid = fmt::format("n{}", i);
    if (is_removal) {
      const auto victim = active.begin() + static_cast<std::ptrdiff_t>(random() % active.size());
      uid = *victim;
      auto done = agent.remove_pod(uid, enforce::RunningProcesses::kRefuse);
      if (!done) return fail(std::move(done).error());
      if (done->not_enforced) return fail(*std::move(done->not_enforced));
      active.erase(victim);
      ++tally.removed;
    } else {
      auto done = agent.admit(make_pod(i, random));
      if (!done) return fail(std::move(done).error());
      if (done->not_enforced) return fail(*std::move(done->not_enforced));
      ++(done->rejection ? tally.rejected : tally.admitted);
      if (!done->rejection) active.push_back(uid);
    }
    if (unsafe == nullptr) continue;
    if (auto done = apply_unsafely(*unsafe, before, agent.wanted(), uid); !done) {
      return fail(std::move(done).error());
    }
  }
  return tally;
}

int run(int operations, bool unsafe) {
  const bool v1 = ::access("/sys/fs/cgroup/cpuset", F_OK) == 0;
  const std::string root = v1 ? kRootV1 : kRoot;
  const auto failed = [](const Error& error) {
    fmt::print("failed: {}\n", error.message);
    return 2;
  };
  auto agent = open(root, !unsafe);
  if (!agent) return failed(agent.error());
  std::optional<enforce::Cgroups> cgroups;
  if (unsafe) {
    auto opened = enforce::open_this_kernel(root);
    if (!opened) return failed(opened.error());
    cgroups = *std::move(opened);
  }
  Sampler sampler(root, v1, CpuId{0});
  std::atomic<bool> stop = false;
  std::thread thread([&] { sampler.run(stop); });
  const auto tally = drive(*agent, cgroups ? &*cgroups : nullptr, operations);
  stop = true;
  thread.join();
  if (!tally) return failed(tally.error());
  fmt::print("{} admitted, {} rejected, {} removed\n", tally->admitted, tally->rejected,
             tally->removed);
  fmt::print("{} looks at all containers, {} times at one with CPUs of its own: {} overlaps\n",
             sampler.looks(), sampler.owners(), sampler.overlaps());
  if (sampler.overlaps() > 0) fmt::print("for example {}\n", sampler.example());
  if (sampler.owners() == 0) return 2;  // it never looked at the right moment
  return sampler.overlaps() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace pinfold

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return pinfold::run(std::atoi(argv[1]), std::strcmp(argv[2], "UNSAFE") == 0);
}
