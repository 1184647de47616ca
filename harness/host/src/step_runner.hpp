#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/harness/run.hpp"
#include "pinfold/harness/session.hpp"

namespace pinfold::harness {

/// Turns the steps of a scenario into requests to the guest's agent, and judges the answers.
class StepRunner {
 public:
  StepRunner(const Scenario& scenario, const RunOptions& options, Session& session)
      : scenario_(scenario), options_(options), session_(session), machine_(scenario.machine) {}

  /// Makes the disk, puts the scenario's files, the product's configuration and its cgroup root
  /// into the guest.
  [[nodiscard]] VmResult<void> prepare();
  [[nodiscard]] VmResult<StepResult> run(const Step& step);

 private:
  [[nodiscard]] VmResult<StepResult> act(const AdmitStep& step);
  [[nodiscard]] VmResult<StepResult> act(const StartStep& step);
  [[nodiscard]] VmResult<StepResult> act(const StopStep& step);
  [[nodiscard]] VmResult<StepResult> act(const RemoveStep& step);
  [[nodiscard]] VmResult<StepResult> act(const RestartStep& step);
  [[nodiscard]] VmResult<StepResult> act(const CpusStep& step);
  [[nodiscard]] VmResult<StepResult> act(const PlugStep& step);
  [[nodiscard]] VmResult<StepResult> act(const ExecStep& step);
  [[nodiscard]] VmResult<StepResult> act(const WriteStep& step);
  [[nodiscard]] VmResult<StepResult> act(const ExpectStep& step);
  [[nodiscard]] VmResult<StepResult> act(const VerifyStep& step);
  [[nodiscard]] VmResult<StepResult> act(const StartSamplingStep& step);
  [[nodiscard]] VmResult<StepResult> act(const StopSamplingStep& step);
  [[nodiscard]] VmResult<StepResult> act(const PowerCutsStep& step);

  /// A pod that the product has admitted.
  struct Pod {
    std::string uid;
    std::vector<std::string> containers;
    bool counts_as_started = true;
  };

  [[nodiscard]] VmResult<Json> ask(Json request);
  /// The step's limit as its file has it, and how it is stretched: "3 s", "3 s (x 4)".
  [[nodiscard]] std::string limit_text() const;
  [[nodiscard]] VmResult<void> make_disk();
  /// What the disk has now must survive, if there is a disk.
  [[nodiscard]] VmResult<void> mark_disk();
  [[nodiscard]] VmResult<StepResult> plug_cpu(CpuId cpu);
  [[nodiscard]] VmResult<StepResult> plug_memory(std::uint64_t bytes, int node);
  /// Asks the guest for its machine again, and compares it with what it must have become.
  [[nodiscard]] VmResult<StepResult> look_at_machine();
  /// Reads a file of the guest again and again until `done` likes it.
  [[nodiscard]] VmResult<StepResult> wait_for(const std::string& path,
                                              const std::function<bool(const std::string&)>& done);
  /// Runs a command of the guest to its end; the first one of a step that says so is killed.
  [[nodiscard]] VmResult<Json> run_command(std::vector<std::string> argv,
                                           const std::string& cgroup);
  /// How a step ended whose command was to be killed. Nothing if it was not to be.
  [[nodiscard]] std::optional<StepResult> end_of_killed(const Json& reply) const;
  /// While the sampler runs: remembers the exclusive CPUs of each group.
  [[nodiscard]] VmResult<void> note_exclusive(StepResult& result);
  [[nodiscard]] VmResult<void> put_files();
  [[nodiscard]] VmResult<void> put(const std::string& path, const std::string& text);
  [[nodiscard]] VmResult<void> put_config(const KubeletSource& kubelet);
  [[nodiscard]] VmResult<Json> run_product(std::vector<std::string> arguments);
  /// The product's desired cpusets; `problem` is filled in if its status cannot be read.
  [[nodiscard]] VmResult<std::vector<DesiredContainer>> desired(std::string& problem);
  /// Starts a container, or all of a pod in order, in the product.
  [[nodiscard]] VmResult<StepResult> start_in_product(const Pod& pod, const std::string& container);
  [[nodiscard]] VmResult<StepResult> start_one(const StartStep& step, const std::string& name,
                                               const std::string& cgroup);
  [[nodiscard]] VmResult<ObservedContainer> look_at(const DesiredContainer& container);
  [[nodiscard]] VmResult<std::string> read_one(const std::string& path);
  /// A container's group, or the full path given instead.
  [[nodiscard]] VmResult<std::string> folder_of(const std::string& group, StepResult& result);
  [[nodiscard]] VmResult<std::string> group_value(const Expectation& expectation,
                                                  const std::string& folder,
                                                  const std::string& name);
  [[nodiscard]] VmResult<void> expect_disjoint(const Expectation& expectation, StepResult& result);
  [[nodiscard]] VmResult<void> expect_threads(const Expectation& expectation, StepResult& result);
  [[nodiscard]] VmResult<void> expect_one(const Expectation& expectation, StepResult& result);
  /// After a step that looks: the groups that the scenario knows, for the report's picture.
  [[nodiscard]] VmResult<void> note_groups(const Action& action, StepResult& result);
  [[nodiscard]] VmResult<std::string> cgroup_of(const std::string& container, StepResult& result);

  [[nodiscard]] CgroupMode cgroup_mode() const { return scenario_.machine.platform.cgroup; }

  const Scenario& scenario_;
  const RunOptions& options_;
  Session& session_;
  VmMachine machine_;  ///< the scenario's, with what was plugged in
  Milliseconds time_limit_{30000};
  std::optional<KillPoint> kill_at_;  ///< of this step, until a command has been run
  bool sampling_ = false;
  int plugged_ = 0;          ///< pieces of memory
  ExclusiveCpus exclusive_;  ///< of all containers since the sampler runs
  /// The product's decisions, until a step that may change them.
  std::optional<std::vector<DesiredContainer>> desired_;
  std::map<std::string, Pod> pods_;             ///< admitted, by name
  std::map<std::string, std::string> running_;  ///< program to its cgroup
};

}  // namespace pinfold::harness
