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
#include "samples.hpp"

namespace pinfold::world {
namespace {

using checkpoint::testing::Disk;
using checkpoint::testing::Image;
using checkpoint::testing::MemoryFs;
using enforce::CgroupVersion;

const CpuSet kAll = CpuSet::range(0, 7);
constexpr const char* kStranger = "stranger";
constexpr const char* kElsewhere = "elsewhere";  ///< beside Pinfold's root

/// The machine as the kernel shows it while these CPUs are online.
Machine machine_with(const CpuSet& online) {
  MachineDescription description = test::two_sockets().description();
  std::erase_if(description.cpus, [&](const Cpu& cpu) { return !online.contains(cpu.id); });
  return Machine::make(std::move(description)).value();
}

Config config_of(const std::string& text) { return parse_config(text).value().config; }

/// Of all images that a power cut can leave now, the one with this number, modulo their count.
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

/// "/pinfold/podp1/a"; "" if no group has the process.
std::string path_of(const test::ModelKernel::Dir& dir, const std::string& path, int process) {
  if (dir.processes.contains(process)) return path.empty() ? "/" : path;
  for (const auto& [name, child] : dir.children) {
    std::string found = path_of(*child, path + "/" + name, process);
    if (!found.empty()) return found;
  }
  return "";
}

bool needs_space(const Operation& operation) {
  const auto is = [&](const char* verb) { return operation.text.starts_with(verb); };
  return operation.is_on_disk && (is("create ") || is("reserve ") || is("write "));
}

std::string name_of(const Fault& fault) {
  Action action;
  action.fault = fault;
  const std::string text = to_string(action);
  const std::size_t begin = text.find("! ") + 2;
  return text.substr(begin, text.find(' ', begin) - begin);
}

}  // namespace

SimulatedNode::SimulatedNode(const History& history, Bug bug)
    : disk(std::make_shared<Disk>()),
      kernel(history.cgroups, kAll, CpuSet{0, 1}),
      first_config_(config_text(history.config)),
      has_runtime_(history.has_runtime),
      bug_(bug),
      processes_(kernel, bug) {
  kernel.has_kill = true;
  kernel.processes = history.has_processes ? &processes_ : nullptr;
}

std::unique_ptr<checkpoint::Fs> SimulatedNode::disk_to_read() const {
  return std::make_unique<MemoryFs>(disk);
}

void SimulatedNode::arm(const std::optional<Fault>& fault) {
  fault_ = fault;
  has_failed_ = false;
  operations_ = 0;
  if (late_.empty() || --until_late_ > 0) return;
  for (const auto& change : std::exchange(late_, {})) change();
}

/// What happens before each operation of the service.
int SimulatedNode::before(const Operation& operation) {
  ++tally.operations;
  const int number = operations_++;
  if (!fault_ || number < fault_->at) return 0;
  const bool is_full = fault_->kind == Fault::Kind::kFull;
  if (is_full && !needs_space(operation)) return 0;
  if (std::exchange(has_failed_, true)) return is_full ? ENOSPC : 0;
  ++tally.faults[name_of(*fault_)];
  switch (fault_->kind) {
    case Fault::Kind::kKill:
      process_->kill();
      return EIO;
    case Fault::Kind::kCut:
      cut_power(fault_->choice);
      process_->kill();
      return EIO;
    case Fault::Kind::kError:
      return EIO;
    case Fault::Kind::kFull:
      return ENOSPC;
    case Fault::Kind::kRewrite:
      rewrite(fault_->choice);
      return 0;
    case Fault::Kind::kOffline:
      take_offline(fault_->choice);
      return 0;
  }
  return 0;
}

SimulatedNode::Clock::time_point SimulatedNode::clock() const {
  constexpr auto kJump = std::chrono::hours(1) + std::chrono::minutes(1);
  const bool has_jumped = bug_ == Bug::kClockBack && now_.time_since_epoch() > kJump;
  return has_jumped ? now_ - std::chrono::hours(1) : now_;
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
  if (has_runtime_) options.abandoned = agent::Abandoned::kDisown;
  auto cgroups = kernel.cgroups("pinfold", [this](auto fs, const std::string& below) {
    return fs_of(process_, std::move(fs), below);
  });
  return agent::NodeAgent::open(std::move(node), std::move(store), std::move(cgroups),
                                std::move(options), std::move(known.offline));
}

Result<void> SimulatedNode::start() {
  bury();
  process_ = std::make_shared<Process>();
  process_->before = [this](const Operation& operation) { return before(operation); };
  process_->after = [this](const Operation& operation) {
    const bool is_group = !operation.is_on_disk && operation.file.empty();
    if (is_group || operation.file == "cpuset.cpus") disturbed.erase(operation.group);
    if (watch) watch(operation);
  };
  process_->bug = bug_;
  ++tally.starts;
  PINFOLD_LET(auto agent, open());
  shared_node_ = agent.shared_node();
  if (has_runtime_) {
    nri::FollowerOptions follower;
    follower.pod_level = service::PodLevelResources::kAnnotated;
    follower.mount = "/model";
    PINFOLD_LET(follower_,
                nri::make_follower(service::NriMode::kEnforce, agent, std::move(follower)));
  }
  service::WorkerOptions options;
  options.now = [this] { return clock(); };
  options.watch = [this](const std::string& /*directory*/) { return watch_end(); };
  worker_ = std::make_unique<service::Worker>(std::move(agent), std::move(options));
  worker_->run_round();
  return {};
}

void SimulatedNode::stop() {
  constexpr int kRounds = 3;  // the next action of a client is done by then
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
  disturbed.clear();
  ++boots_;
}

void SimulatedNode::disturb(test::ModelKernel::Dir& dir, const std::string& path) {
  disturbed.insert(path);
  for (const auto& [name, child] : dir.children) disturb(*child, path + "/" + name);
}

void SimulatedNode::set_online(const CpuSet& online) {
  kernel.set_online(online);
  for (const char* const top : {"pinfold", "kubepods"}) {
    if (auto* const root = kernel.find(top)) disturb(*root, top);
  }
}

void SimulatedNode::widen_runtime_groups() {
  const std::function<void(test::ModelKernel::Dir&, const std::string&)> widen =
      [&](test::ModelKernel::Dir& dir, const std::string& path) {
        if (dir.children.empty()) return;
        dir.processes.clear();
        (void)kernel.fs()->write(path, "cpuset.cpus", online().to_string());
        for (const auto& [name, child] : dir.children) widen(*child, path + "/" + name);
      };
  if (auto* const pods = kernel.find("kubepods")) widen(*pods, "kubepods");
}

void SimulatedNode::take_offline(int choice) {
  const auto files = checkpoint::read_files(*disk_to_read());
  if (!files || !files->node) return;  // the first commit says which CPUs the machine has
  set_online(online() - CpuSet::of(CpuId{1 + choice % 7}));
}

void SimulatedNode::change_cpuset(const std::string& group, const CpuSet& cpus) {
  // The kernel refuses some; then nothing has changed.
  const auto written = kernel.fs()->write(group, "cpuset.cpus", cpus.to_string());
  if (!written) return;
  disturb(*kernel.find(group), group);
  notify();
}

void SimulatedNode::rewrite(int choice) {
  std::vector<std::string> groups;
  auto* const root = kernel.find("pinfold");
  if (root == nullptr) return;
  for (const auto& [pod, dir] : root->children) {
    const std::string path = "pinfold/" + pod;
    groups.push_back(path);
    for (const auto& [name, child] : dir->children) groups.push_back(path + "/" + name);
  }
  if (groups.empty()) return;
  const std::array sets = {kAll, CpuSet{0}, CpuSet::range(1, 2), CpuSet::range(0, 3), CpuSet{5}};
  const auto number = static_cast<std::size_t>(choice);
  change_cpuset(groups[number % groups.size()], sets.at(number / groups.size() % sets.size()));
}

void SimulatedNode::reset_cpusets() {
  auto* const root = kernel.find("pinfold");
  if (root == nullptr) return;
  for (const auto& [pod, dir] : root->children) {
    change_cpuset("pinfold/" + pod, online());
    for (const auto& [name, child] : dir->children) {
      change_cpuset("pinfold/" + pod + "/" + name, online());
    }
  }
}

void SimulatedNode::toggle_stranger() {
  auto* const root = kernel.find("pinfold");
  if (root == nullptr) return;
  notify();
  if (root->children.erase(kStranger) > 0) return;
  const std::string group = std::string("pinfold/") + kStranger;
  kernel.make_path(group);
  auto* const dir = kernel.find(group);
  if (kernel.version == CgroupVersion::kV1) dir->files["cpuset.cpus"] = online().to_string();
  dir->processes = {new_process()};
}

/// The service's end of a new pipe.
UniqueFd SimulatedNode::watch_end() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return UniqueFd();
  changes_ = UniqueFd(ends[1]);
  return UniqueFd(ends[0]);
}

/// As inotify does, while the service watches.
void SimulatedNode::notify() {
  pollfd end{changes_.get(), 0, 0};
  const bool is_watched = changes_ && ::poll(&end, 1, 0) == 0;  // else nobody has the other end
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
