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
#include "pinfold/worker/worker.hpp"
#include "process.hpp"
#include "world.hpp"

namespace pinfold::world {

/// The machine on which the service runs: its disk, its kernel, its clock, and its faults. The
/// service is the real one, from the worker down.
class SimulatedNode {
 public:
  using Clock = worker::Clock;

  explicit SimulatedNode(const History& history, Bug bug);

  /// Starts the service with the current contents of the disk. Throws Killed. Errors: why it does
  /// not start.
  [[nodiscard]] Result<void> start();
  /// Stops the service as systemd does, after it has brought its files up to date. Throws Killed.
  void stop();
  /// Destroys the objects of a service that is dead; this has no effect on the machine.
  void bury();
  /// Cuts the power: one of the possible images of the disk remains, by number.
  void cut_power(int image);

  /// Runs a command in another Pinfold process, which opens its own agent, as commands do while no
  /// service runs. Throws Killed. Errors: those of opening the agent.
  [[nodiscard]] Result<void> run_command(const std::function<void(agent::NodeAgent&)>& command);

  /// Sets the faults for what follows; operations are counted from now.
  void arm(const Faults& faults);
  /// Stops all faults. Returns those that have not struck, counted from now, and a disk that stays
  /// full.
  Faults disarm();
  /// Counts a step of another program as an operation, before which faults can strike. Returns the
  /// errno with which it fails; 0: it is done.
  [[nodiscard]] int step(const std::string& text);
  /// Returns true if a fault has struck since arm().
  [[nodiscard]] bool has_failed() const { return !failures_.empty(); }
  /// Returns true if nothing but lack of disk space has failed.
  [[nodiscard]] bool has_only_filled_up() const {
    return failures_ == std::set{Fault::Kind::kFull};
  }

  [[nodiscard]] Clock::time_point now() const { return now_; }
  /// Returns the time on the service's clock.
  [[nodiscard]] Clock::time_point clock() const;
  /// Returns when the service will have something to do by itself, if its clock runs normally.
  /// Domain: it runs.
  [[nodiscard]] Clock::time_point due() const;
  void pass_to(Clock::time_point time) { now_ = time; }
  void set_online(const CpuSet& online);
  /// Gives the runtime's groups around those of containers the CPUs that they have lost.
  void widen_runtime_groups();
  /// Takes one CPU offline, by number.
  void take_offline(int choice);
  /// Changes a cpuset below the root or of a runtime, as a foreign program would; `choice`: which,
  /// and to what.
  void rewrite(int choice);
  void reset_cpusets();
  /// Writes an interrupt or a workqueue, as irqbalance would; `choice`: which, and what.
  void balance(int choice);
  /// Narrows a group of the kubelet as another agent would, with `is_deep` also all groups below
  /// it.
  void narrow(const std::string& group, const CpuSet& cpus, bool is_deep);
  /// Makes that agent restore everything, and removes its soft values.
  void back_off();
  /// Makes writes to a container's group fail as that agent would, or undoes that.
  void trouble(const std::string& group, SoftTrouble::What what);
  /// Returns true if the agent keeps the group, or one above it, narrower than the node.
  [[nodiscard]] bool is_narrowed(const std::string& group);
  /// Returns true if the agent keeps any group narrower or has set soft values.
  [[nodiscard]] bool has_trouble();
  /// Returns the groups whose soft values the agent has set.
  [[nodiscard]] const std::set<std::string>& soft();
  /// Makes groups inside a container's group and moves its processes there, or undoes that.
  void nest(const std::string& group, Nested::How how);
  /// Ends all processes in a group and below it, and removes the groups below.
  void end_group(const std::string& group);
  /// Makes a foreign group with a process, or removes it.
  void toggle_stranger();
  [[nodiscard]] int new_process() { return next_process_++; }
  /// Moves a process of a group out of Pinfold's groups. Domain: the group has one.
  int move_away(const std::string& group);
  /// Does the same, but the process ends and another process there gets its number.
  int reuse_number(const std::string& group);
  /// Returns the processes that were moved away, and the foreign ones next to them.
  [[nodiscard]] std::set<int>& elsewhere();
  /// Returns true if others have changed something below the root while the service was watching,
  /// since the last call.
  [[nodiscard]] bool take_notice() { return std::exchange(has_notified_, false); }

  /// Returns the plugin of the running service; null without a runtime.
  [[nodiscard]] nri::Follower* follower() { return follower_.get(); }
  [[nodiscard]] worker::Worker* worker() { return worker_.get(); }
  [[nodiscard]] const std::shared_ptr<const Node>& shared_node() const { return shared_node_; }
  [[nodiscard]] int boots() const { return boots_; }
  [[nodiscard]] const CpuSet& online() const { return kernel.cpus; }
  [[nodiscard]] std::unique_ptr<checkpoint::Fs> disk_to_read() const;

  std::shared_ptr<checkpoint::testing::Disk> disk;
  test::KnobWorld knobs;
  quiet::KnobValues their_knobs;  ///< the values that the knobs would have without the service
  test::ModelKernel kernel;
  /// Groups that others have changed since the last reconciliation; nothing is promised about them.
  std::set<std::string> disturbed;
  bool is_gate_killed = false;  ///< by Fault::Kind::kGate
  bool is_answer_lost = false;  ///< by Fault::Kind::kSilent
  Tally tally;
  std::function<void(const Operation&)> watch;  ///< called after each operation
  std::function<void()> kill_runtime;           ///< implements Fault::Kind::kRuntime
  std::function<void(std::string_view)> hear;   ///< called for everything that the service logs

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

    std::map<int, std::uint64_t> reused;  ///< how often a number was reused for another process

   private:
    test::ModelKernel& kernel_;
    Bug bug_;
  };

  std::string first_config_;
  bool has_runtime_;
  bool has_knobs_;
  Bug bug_;
  /// What the other agent has narrowed a group to, and whether it includes the groups below.
  struct Hold {
    CpuSet cpus;
    bool is_deep = false;
  };
  std::map<std::string, Hold> narrowed_;
  std::set<std::string> soft_;   ///< groups with soft values
  std::string settled_journal_;  ///< see Process
  std::shared_ptr<Process> process_;
  std::unique_ptr<worker::Worker> worker_;
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
  int readings_ = 0;                ///< since the faults were armed
  int boots_ = 0;
  int next_process_ = 1'000'000'000;
  Processes processes_;
  UniqueFd changes_;  ///< a pipe; the service has the other end while it watches
  bool has_notified_ = false;
  /// Leftover changes of a service that has stopped: see Process.
  std::vector<std::function<void()>> late_;
  int until_late_ = 0;
};

}  // namespace pinfold::world
