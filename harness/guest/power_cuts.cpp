#include <fcntl.h>
#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "disk.hpp"

/// Cuts the power of the recorded disk at many points and examines the resulting disks.
namespace pinfold::guest {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
constexpr const char* kOtherBootId = "/run/boot_id";
constexpr const char* kExpedite = "/sys/kernel/rcu_expedited";
constexpr std::size_t kShown = 60;      // bytes of a file
constexpr std::size_t kMaxSaid = 1000;  // bytes of a command's output

struct Work {
  std::vector<std::vector<std::string>> commands;
  std::vector<std::string> files;
  Clock::time_point deadline;
};

/// Describes a file; equal contents give equal descriptions. "is" is for messages.
Json describe_file(const Tree& tree, const std::string& name) {
  const auto found = tree.find(name);
  if (found == tree.end()) return {{"is", "absent"}};
  const std::string& bytes = found->second;
  return {{"is", std::to_string(bytes.size()) + " bytes: " + bytes.substr(0, kShown)},
          {"sum", std::hash<std::string>()(bytes)}};
}

Json state_of(const Tree& tree, const std::vector<std::string>& files) {
  Json state = Json::array();
  for (const std::string& name : files) state.push_back(describe_file(tree, name));
  return state;
}

/// Imitates a reboot while the machine keeps running: changes the kernel's boot id. Also expedites
/// RCU, because every mount here waits for several grace periods.
class AnotherBoot {
 public:
  AnotherBoot() {
    (void)write_text(kExpedite, "1", O_WRONLY);
    change();
    (void)mount(kOtherBootId, kBootId, nullptr, MS_BIND, nullptr);
  }
  AnotherBoot(const AnotherBoot&) = delete;
  AnotherBoot& operator=(const AnotherBoot&) = delete;
  ~AnotherBoot() {
    (void)umount(kBootId);
    (void)write_text(kExpedite, "0", O_WRONLY);
  }
  static void change() {
    int failed = 0;
    const std::string id = read_text("/proc/sys/kernel/random/uuid", failed);
    (void)write_text(kOtherBootId, id + "\n", O_WRONLY | O_CREAT | O_TRUNC);
  }
};

/// Runs the commands on the mounted disk, up to the first that fails.
Json run_commands(Agent& agent, const Work& work) {
  Json ends = Json::array();
  for (const auto& argv : work.commands) {
    Spawn spawn;
    spawn.argv = argv;
    spawn.time_limit =
        std::chrono::duration_cast<std::chrono::milliseconds>(work.deadline - Clock::now());
    Json end = run_to_end(agent, spawn);
    std::string said = end.value("error", "") + end.value("stdout", "") + end.value("stderr", "");
    if (said.size() > kMaxSaid) said = "..." + said.substr(said.size() - kMaxSaid);
    for (const char* key : {"stdout", "stderr", "elapsedMs"}) end.erase(key);
    const bool good = end.value("status", -1) == 0;
    if (!good) end["said"] = said;
    ends.push_back(std::move(end));
    if (!good) break;
  }
  return ends;
}

/// Mounts and examines the disks after cuts, each distinct disk once. The commands depend only on
/// the files that they find, so they run once for each distinct set of files.
class Reboots {
 public:
  Reboots(Agent& agent, const Work& work) : agent_(agent), disk_(*agent.disk), work_(work) {
    if (disk_.filesystem == "xfs") options_ = "nouuid";  // the original is still mounted
  }

  /// Returns the index of the outcome.
  std::size_t reboot(Pages disk) {
    const auto [tried, added] = tried_.emplace(disk.sum(), 0);
    if (added) {
      disk_.cut_device.replace(std::move(disk));
      tried->second = mount_and_look();
    }
    return tried->second;
  }

  [[nodiscard]] std::size_t disks() const { return tried_.size(); }
  [[nodiscard]] const Json& outcomes() const { return outcomes_; }
  /// If not empty, no further disk can be tried.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  std::size_t mount_and_look() {
    const char* device = disk_.cut_device.path().c_str();
    const char* folder = disk_.folder.c_str();
    const char* type = disk_.filesystem.c_str();
    if (mount(device, folder, type, MS_RDONLY, options_.c_str()) != 0) {
      const Tree none = {{"(not mounted)", errno_name(errno)}};
      return number_of(none, {{"mount", errno_name(errno)}});
    }
    Tree tree = read_tree(disk_.folder);
    std::size_t number = 0;
    if (const auto known = known_.find(tree); known != known_.end()) {
      number = known->second;
    } else {
      Json outcome = {{"mount", ""}};
      if (mount(device, folder, type, MS_REMOUNT, options_.c_str()) != 0) {
        outcome["mount"] = "to write: " + errno_name(errno);
      } else {
        AnotherBoot::change();
        outcome["commands"] = run_commands(agent_, work_);
        outcome["state"] = state_of(read_tree(disk_.folder), work_.files);
      }
      number = number_of(tree, std::move(outcome));
    }
    if (umount(folder) != 0) problem_ = describe_errno("umount " + disk_.folder, errno);
    return number;
  }

  std::size_t number_of(const Tree& tree, Json outcome) {
    const auto [known, added] = known_.emplace(tree, outcomes_.size());
    if (added) outcomes_.push_back(std::move(outcome));
    return known->second;
  }

  Agent& agent_;
  RecordedDisk& disk_;
  const Work& work_;
  std::string options_;
  std::map<std::uint64_t, std::size_t> tried_;  ///< sum of a disk to the index of its outcome
  std::map<Tree, std::size_t> known_;
  Json outcomes_ = Json::array();
  std::string problem_;
};

/// The log for the host: the size of each write, negative if it was forced, 0 for a flush.
Json describe_log(const BlockLog& log) {
  Json entries = Json::array();
  for (const LogEntry& entry : log) {
    const auto bytes = static_cast<std::int64_t>(entry.bytes.size());
    entries.push_back(entry.forced ? -bytes : bytes);
  }
  return entries;
}

/// Tries cuts until all are done, time is up or a disk cannot be unmounted.
Json try_cuts(Agent& agent, const BlockLog& log, const std::vector<std::size_t>& marks,
              const std::vector<WriteLoss>& losses, const Work& work) {
  const AnotherBoot while_cutting;
  RecordedDisk& disk = *agent.disk;
  Pages base = disk.base.copy();
  Replay replay(base, log, disk.sector());
  Reboots reboots(agent, work);
  Json cuts = Json::array();
  bool in_time = true;
  for (const Cut& cut : list_cuts(log, marks, losses)) {
    if (cut.position < marks.front()) continue;  // nothing has been acknowledged yet
    in_time = Clock::now() < work.deadline;
    if (!in_time) break;
    const bool acknowledged = std::find(marks.begin(), marks.end(), cut.position) != marks.end();
    cuts.push_back({cut.position, static_cast<int>(cut.loss),
                    reboots.reboot(replay.after(cut, acknowledged))});
    if (!reboots.problem().empty()) return refuse(reboots.problem());
  }
  return {{"ok", true},
          {"timedOut", !in_time},
          {"cuts", cuts},
          {"outcomes", reboots.outcomes()},
          {"disks", reboots.disks()}};
}

}  // namespace

Json cut_power(Agent& agent, const Json& request) {
  if (!agent.disk || agent.disk->marks.empty()) return refuse("there is no disk");
  const Clock::time_point begin = Clock::now();
  const Work work{request.at("commands"), request.at("files"),
                  begin + std::chrono::milliseconds(request.value("timeLimitMs", 30000))};
  std::vector<std::size_t> positions;
  Json marks = Json::array();
  for (const LogMark& mark : agent.disk->marks) {
    positions.push_back(mark.position);
    marks.push_back({{"position", mark.position}, {"state", state_of(mark.files, work.files)}});
  }
  BlockLog log = agent.disk->device.log();
  log.resize(positions.back());  // later entries do not belong to a step
  std::vector<WriteLoss> losses;
  for (const int loss : request.at("losses")) losses.push_back(static_cast<WriteLoss>(loss));
  Json reply = try_cuts(agent, log, positions, losses, work);
  reply["elapsedMs"] =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
  reply["marks"] = std::move(marks);
  reply["log"] = describe_log(log);
  return reply;
}

}  // namespace pinfold::guest
