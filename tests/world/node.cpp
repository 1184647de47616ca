#include "node.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include "node_samples.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/nri_plugin/make_follower.hpp"
#include "samples.hpp"

namespace pinfold::world {
namespace {

using checkpoint::testing::Disk;
using checkpoint::testing::Image;
using checkpoint::testing::MemoryFs;
using enforce::CgroupVersion;

const CpuSet kAll = CpuSet::range(0, 7);
constexpr const char* kElsewhere = "elsewhere";  ///< outside Pinfold's root

/// Returns the machine as the kernel shows it while these CPUs are online.
Machine machine_with(const CpuSet& online) {
  MachineDescription description = test::two_sockets().description();
  std::erase_if(description.cpus, [&](const Cpu& cpu) { return !online.contains(cpu.id); });
  return Machine::make(std::move(description)).value();
}

Config config_of(const std::string& text) { return parse_config(text).value().config; }

/// Of all images that a power cut can leave now, returns the one with this number, modulo their
/// count.
Image image_after_cut(const Disk& disk, int number) {
  int count = 0;
  std::set<std::string> seen;
  disk.for_each_image(seen, [&](const Image& /*image*/) { ++count; });
  seen.clear();
  Image chosen;
  int next = 0;
  disk.for_each_image(seen, [&](const Image& image) {
    if (next++ == number % count) chosen = image;
  });
  return chosen;
}

/// Returns "/pinfold/podp1/a", the group of a process; "" if it is in no group.
std::string path_of(const test::ModelKernel::Dir& dir, const std::string& path, int process) {
  if (dir.processes.contains(process)) return path.empty() ? "/" : path;
  for (const auto& [name, child] : dir.children) {
    std::string found = path_of(*child, path + "/" + name, process);
    if (!found.empty()) return found;
  }
  return "";
}

/// Interrupts of all CPUs and of some, and work that is not bound to a CPU.
quiet::KnobValues knobs_at_boot() {
  using quiet::KnobKind;
  return {{{KnobKind::kIrqbalance, ""}, ""},
          {{KnobKind::kInterrupt, "24"}, "0-7"},
          {{KnobKind::kInterrupt, "25"}, "2-3"},
          {{KnobKind::kInterrupt, "26"}, "5"},
          {{KnobKind::kWorkqueue, "*"}, "ff"}};
}

}  // namespace

SimulatedNode::SimulatedNode(const History& history, Bug bug)
    : disk(std::make_shared<Disk>()),
      kernel(history.cgroups, kAll, CpuSet{0, 1}),
      first_config_(config_text(history.config)),
      has_runtime_(history.has_runtime),
      has_knobs_(history.has_knobs),
      bug_(bug),
      processes_(kernel, bug) {
  knobs.values = their_knobs = knobs_at_boot();
  kernel.has_kill = true;
  kernel.links = {{"/link", "/model"}, {"/proc/self/root/model", "/model"}};
  kernel.processes = history.has_processes ? &processes_ : nullptr;
}

std::unique_ptr<checkpoint::Fs> SimulatedNode::disk_to_read() const {
  return std::make_unique<MemoryFs>(disk);
}

SimulatedNode::Clock::time_point SimulatedNode::clock() const {
  constexpr Clock::time_point kTurn(std::chrono::hours(1) + std::chrono::minutes(1));
  const bool runs_back = bug_ == Bug::kClockBack && now_ > kTurn;
  return (runs_back ? kTurn - (now_ - kTurn) : now_) + clock_error_;
}

SimulatedNode::Clock::time_point SimulatedNode::due() const {
  return now_ + (worker_->due() - clock());
}

Result<enforce::Cgroups> SimulatedNode::open_cgroups() {
  try {
    return kernel.cgroups("pinfold", [this](auto fs, const std::string& below) {
      return fs_of(process_, std::move(fs), below);
    });
  } catch (const std::runtime_error& error) {
    return fail(ErrorCode::kIo, error.what());
  }
}

Result<agent::NodeAgent> SimulatedNode::open() {
  const auto ask = [process = process_](const std::string& /*operation*/) {
    return MemoryFs::Fault{process->disk_error};
  };
  PINFOLD_LET(auto store,
              checkpoint::Store::open(fs_of(process_, std::make_unique<MemoryFs>(disk, ask))));
  PINFOLD_LET(const auto files, store.load());
  Config config = config_of(first_config_);
  if (files.node) {
    PINFOLD_LET(auto stored, agent::decode_node(*files.node));
    config = std::move(stored.config);
  }
  auto known = agent::known_machine(machine_with(online()), store, {});
  PINFOLD_LET(auto node, agent::make_node(std::move(known.machine), std::move(config)));
  agent::AgentOptions options;
  options.now = [this] { return clock(); };
  options.log = [this](agent::LogLevel level, std::string_view line) {
    if (hear && level >= agent::LogLevel::kInfo) hear(line);
  };
  if (has_runtime_) options.abandoned = agent::Abandoned::kDisown;
  if (has_knobs_) options.quiet = quiet::QuietLevel::kSystem;
  options.open_knobs = [this] { return knobs_of(process_, knobs); };
  PINFOLD_LET(auto cgroups, open_cgroups());
  return agent::NodeAgent::open(std::move(node), std::move(store), std::move(cgroups),
                                std::move(options), std::move(known.offline));
}

void SimulatedNode::make_process() {
  bury();
  process_ = std::make_shared<Process>();
  process_->before = [this](const Operation& operation) { return before(operation); };
  process_->before_reading = [this] { return before_reading(); };
  process_->after = [this](const Operation& operation) {
    const bool is_group = !operation.is_on_disk && operation.file.empty();
    if (is_group || operation.file == "cpuset.cpus") disturbed.erase(operation.group);
    if (watch) watch(operation);
  };
  process_->bug = bug_;
  process_->settled_journal = &settled_journal_;
}

Result<void> SimulatedNode::run_command(const std::function<void(agent::NodeAgent&)>& command) {
  make_process();
  PINFOLD_LET(auto agent, open());
  command(agent);
  (void)agent.checkpoint_journal();
  process_->is_ending = true;
  return {};
}

Result<void> SimulatedNode::start() {
  make_process();
  ++tally.starts;
  PINFOLD_LET(auto agent, open());
  shared_node_ = agent.shared_node();
  if (has_runtime_) {
    nri::FollowerOptions follower;
    follower.pod_level = settings::PodLevelResources::kAnnotated;
    follower.mount = "/model";
    follower.log = [this](agent::LogLevel level, std::string_view line) {
      if (hear && level >= agent::LogLevel::kInfo) hear(line);
    };
    PINFOLD_LET(follower_,
                nri::make_follower(settings::NriMode::kEnforce, agent, std::move(follower)));
  }
  worker::WorkerOptions options;
  options.now = [this] { return clock(); };
  options.watch = [this](const std::string& /*directory*/) { return watch_end(); };
  worker_ = std::make_unique<worker::Worker>(std::move(agent), std::move(options));
  worker_->run_round();
  return {};
}

void SimulatedNode::stop() {
  constexpr int kRounds = 5;  // the next action of a client is done by then
  process_->is_leaving = true;
  worker_->stop();
  worker_->run();
  process_->is_ending = true;
  follower_.reset();
  worker_.reset();
  late_ = std::move(process_->late);
  until_late_ = kRounds;
}

void SimulatedNode::bury() {
  if (process_) process_->is_dead = true;
  follower_.reset();
  worker_.reset();
}

void SimulatedNode::cut_power(int image) {
  if (process_) process_->is_dead = true;
  *disk = Disk(image_after_cut(*disk, image));
  test::ModelKernel fresh(kernel.version, kAll, CpuSet{0, 1});
  kernel.root = std::move(fresh.root);
  kernel.cpus = kAll;
  knobs.values = their_knobs = knobs_at_boot();
  disturbed.clear();
  narrowed_.clear();
  soft_.clear();
  ++boots_;
}

/// Makes a new pipe and returns the service's end.
UniqueFd SimulatedNode::watch_end() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return UniqueFd();
  changes_ = UniqueFd(ends[1]);
  return UniqueFd(ends[0]);
}

/// Notifies the service as inotify would, while it watches.
void SimulatedNode::notify() {
  pollfd end{changes_.get(), 0, 0};
  const bool is_watched = changes_ && ::poll(&end, 1, 0) == 0;  // otherwise the other end is closed
  if (!is_watched) return;
  has_notified_ = true;
  if (bug_ != Bug::kLostEvents) (void)!::write(changes_.get(), "", 1);
}

std::set<int>& SimulatedNode::elsewhere() {
  kernel.make_path(kElsewhere);
  auto* const dir = kernel.find(kElsewhere);
  if (kernel.version == CgroupVersion::kV1) dir->files["cpuset.cpus"] = online().to_string();
  return dir->processes;
}

int SimulatedNode::move_away(const std::string& group) {
  auto& processes = kernel.find(group)->processes;
  const int process = *processes.begin();
  processes.erase(process);
  elsewhere().insert(process);
  return process;
}

int SimulatedNode::reuse_number(const std::string& group) {
  const int process = move_away(group);
  ++processes_.reused[process];
  return process;
}

std::optional<enforce::ProcessId> SimulatedNode::Processes::identify(pid_t pid) const {
  if (cpuset_path(pid, kernel_.version).empty()) return std::nullopt;
  const auto found = reused.find(pid);
  const bool is_first = found == reused.end() || bug_ == Bug::kReusedNumbers;
  return enforce::ProcessId{pid, is_first ? 0 : found->second};
}

std::string SimulatedNode::Processes::cpuset_path(pid_t pid,
                                                  enforce::CgroupVersion /*cpusets*/) const {
  return path_of(kernel_.root, "", pid);
}

}  // namespace pinfold::world
