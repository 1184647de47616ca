#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory_fs.hpp"
#include "model_kernel.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/nri_plugin/follower.hpp"
#include "pinfold/service/worker.hpp"
#include "process.hpp"
#include "world.hpp"

namespace pinfold::world {

/// The machine on which the service runs: its disk, its kernel, its clock, and what goes wrong.
/// The service is the product's, from the worker down.
class SimulatedNode {
 public:
  using Clock = service::Clock;

  explicit SimulatedNode(const History& history, Bug bug);

  /// Starts the service on what is on the disk. Throws Killed. Errors: why it does not start.
  [[nodiscard]] Result<void> start();
  /// Stops it as systemd does, after it has brought its files up to date. Throws Killed.
  void stop();
  /// It is gone: its objects are destroyed, and touch nothing.
  void bury();
  /// The power fails: what remains is one of the images of the disk, by number.
  void cut_power(int image);

  /// Another process of Pinfold does something with an agent, as its commands do while no service
  /// runs. Throws Killed. Errors: those of opening the agent.
  [[nodiscard]] Result<void> run_command(const std::function<void(agent::NodeAgent&)>& command);

  /// The faults of what follows; operations are counted from now.
  void arm(const Faults& faults);
  /// From now on none. Returns those that have not happened, counted from now, and with them a disk
  /// that stays full.
  Faults disarm();
  /// Whether one has happened since arm().
  [[nodiscard]] bool has_failed() const { return !failures_.empty(); }
  /// Nothing has failed but for want of space on the disk.
  [[nodiscard]] bool has_only_filled_up() const {
    return failures_ == std::set{Fault::Kind::kFull};
  }

  [[nodiscard]] Clock::time_point now() const { return now_; }
  /// That of the service.
  [[nodiscard]] Clock::time_point clock() const;
  /// When the service has something to do by itself, if its clock goes on as it should. Domain: it
  /// runs.
  [[nodiscard]] Clock::time_point due() const;
  void pass_to(Clock::time_point time) { now_ = time; }
  void set_online(const CpuSet& online);
  /// Gives the groups that a runtime made around those of containers what they have lost.
  void widen_runtime_groups();
  /// One CPU, by number.
  void take_offline(int choice);
  /// Another writer changes a cpuset below the root or of a runtime; `choice`: which, and to what.
  void rewrite(int choice);
  void reset_cpusets();
  /// An agent of others narrows a group of the kubelet, with `is_deep` all groups below it too.
  void narrow(const std::string& group, const CpuSet& cpus, bool is_deep);
  /// It gives all back, and sets no soft values any more.
  void back_off();
  /// What it does to a container's group, or takes back.
  void trouble(const std::string& group, SoftTrouble::What what);
  /// Whether an agent holds the group, or one above it, narrower than the node.
  [[nodiscard]] bool is_narrowed(const std::string& group);
  /// Whether an agent holds any group narrower or has set soft values.
  [[nodiscard]] bool has_trouble();
  /// The groups whose soft values an agent has set.
  [[nodiscard]] const std::set<std::string>& soft();
  /// A container makes groups in its own and moves its processes there, or undoes that.
  void nest(const std::string& group, Nested::How how);
  /// All processes of a group and below it end, and the groups below it are gone.
  void end_group(const std::string& group);
  /// Makes the group of a stranger with a process, or removes it.
  void toggle_stranger();
  [[nodiscard]] int new_process() { return next_process_++; }
  /// A process of a group is moved out of Pinfold's groups. Domain: it has one.
  int move_away(const std::string& group);
  /// The same, but it ends: another process there has its number.
  int reuse_number(const std::string& group);
  /// The processes that were moved away, and those of others beside them.
  [[nodiscard]] std::set<int>& elsewhere();
  /// Whether others have changed something below the root while the service watched it, since the
  /// last call.
  [[nodiscard]] bool take_notice() { return std::exchange(has_notified_, false); }

  /// The plugin of the service that runs; null without a runtime.
  [[nodiscard]] nri::Follower* follower() { return follower_.get(); }
  [[nodiscard]] service::Worker* worker() { return worker_.get(); }
  [[nodiscard]] const std::shared_ptr<const Node>& shared_node() const { return shared_node_; }
  [[nodiscard]] int boots() const { return boots_; }
  [[nodiscard]] const CpuSet& online() const { return kernel.cpus; }
  [[nodiscard]] std::unique_ptr<checkpoint::Fs> disk_to_read() const;

  std::shared_ptr<checkpoint::testing::Disk> disk;
  test::ModelKernel kernel;
  /// Groups that others have changed since the last reconciliation; what they do is not promised.
  std::set<std::string> disturbed;
  Tally tally;
  std::function<void(const Operation&)> watch;  ///< called after each operation
  std::function<void()> kill_runtime;           ///< what Fault::Kind::kRuntime does
  std::function<void(std::string_view)> hear;   ///< called with what the service logs

 private:
  [[nodiscard]] Result<enforce::Cgroups> open_cgroups();
  [[nodiscard]] Result<agent::NodeAgent> open();
  void make_process();
  [[nodiscard]] int before(const Operation& operation);
  [[nodiscard]] int before_reading();
  [[nodiscard]] int happen(const Fault& fault);
  void count(const Fault& fault);
  void let_late_happen();
  [[nodiscard]] std::vector<std::string> groups_of_others();
  void disturb(test::ModelKernel::Dir& dir, const std::string& path);
  void notify();
  [[nodiscard]] UniqueFd watch_end();
  void change_cpuset(const std::string& group, const CpuSet& cpus);
  void widen(const std::string& group, const CpuSet& cpus, bool is_deep);
  void shrink(const std::string& group, const CpuSet& cpus, bool is_deep);
  void write_cpus(const std::string& group, const CpuSet& cpus);

  /// The processes of this machine, as the service sees them.
  class Processes final : public enforce::ProcessTable {
   public:
    Processes(test::ModelKernel& kernel, Bug bug) : kernel_(kernel), bug_(bug) {}

    [[nodiscard]] std::optional<enforce::ProcessId> identify(pid_t pid) const override;
    [[nodiscard]] std::string cpuset_path(pid_t pid, enforce::CgroupVersion cpusets) const override;

    std::map<int, std::uint64_t> reused;  ///< how often a number was given to another process

   private:
    test::ModelKernel& kernel_;
    Bug bug_;
  };

  std::string first_config_;
  bool has_runtime_;
  Bug bug_;
  /// What the agent of others has a group narrowed to, and whether those below it too.
  struct Hold {
    CpuSet cpus;
    bool is_deep = false;
  };
  std::map<std::string, Hold> narrowed_;
  std::set<std::string> soft_;   ///< groups with soft values of that
  std::string settled_journal_;  ///< see Process
  std::shared_ptr<Process> process_;
  std::unique_ptr<service::Worker> worker_;
  std::unique_ptr<nri::Follower> follower_;
  std::shared_ptr<const Node> shared_node_;  ///< the worker's
  Clock::time_point now_{std::chrono::hours(1)};
  std::chrono::seconds clock_error_{0};
  struct Armed {
    Fault fault;
    bool has_happened = false;
  };
  std::vector<Armed> faults_;
  std::set<Fault::Kind> failures_;  ///< since the faults were armed
  int operations_ = 0;              ///< since the faults were armed
  int readings_ = 0;                ///< the same
  int boots_ = 0;
  int next_process_ = 1'000'000'000;
  Processes processes_;
  UniqueFd changes_;  ///< a pipe, of which the service has the other end while it watches
  bool has_notified_ = false;
  /// Of a service that has stopped: see Process.
  std::vector<std::function<void()>> late_;
  int until_late_ = 0;
};

}  // namespace pinfold::world
