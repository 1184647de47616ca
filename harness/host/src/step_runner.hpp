#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kubelet_requests.hpp"
#include "pinfold/harness/run.hpp"
#include "pinfold/harness/runtime.hpp"
#include "pinfold/harness/session.hpp"

namespace pinfold::harness {

/// Turns the steps of a scenario into requests to the guest agent, and judges the replies.
class StepRunner {
 public:
  StepRunner(const Scenario& scenario, const RunOptions& options, Session& session)
      : scenario_(scenario), options_(options), session_(session), machine_(scenario.machine) {}

  /// Loads the scenario's modules, creates the disk and the product's cgroup root in the guest, and
  /// copies the scenario's files and the product's configuration.
  [[nodiscard]] VmResult<void> prepare();
  [[nodiscard]] VmResult<StepResult> run(const Step& step);

  /// Returns what the runner knows after the steps so far, for a runner that continues from a saved
  /// guest.
  [[nodiscard]] Json memory() const;
  /// Restores it. Returns false if the JSON is not such a memory.
  [[nodiscard]] bool recall(const Json& memory);

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
  [[nodiscard]] VmResult<StepResult> act(const RunPodStep& step);
  [[nodiscard]] VmResult<StepResult> act(const PodStep& step);
  [[nodiscard]] VmResult<StepResult> act(const ContainerStep& step);
  [[nodiscard]] VmResult<StepResult> act(const ExecContainerStep& step);
  [[nodiscard]] VmResult<StepResult> act(const RuntimeStep& step);

  /// A pod that the product has admitted.
  struct Pod {
    std::string uid;
    std::vector<std::string> containers;
    bool counts_as_started = true;
  };

  /// A pod that the container runtime runs.
  // NOLINTNEXTLINE(bugprone-exception-escape): about json, whose moving asserts
  struct RuntimePod {
    PodRequests requests;
    std::string id;
    std::map<std::string, std::string> containers;  ///< created: name to id
  };

  [[nodiscard]] VmResult<Json> ask(Json request);
  /// Calls the container runtime, within the step's limit.
  [[nodiscard]] VmResult<CriAnswer> call(const std::string& method, const Json& request);
  /// Returns the cgroups of the runtime's containers, by pod and name.
  [[nodiscard]] std::map<std::string, std::string> runtime_cgroups() const;
  /// Returns the step's limit from its file, with the time scale: "3 s", "3 s (x 4)".
  [[nodiscard]] std::string limit_text() const;
  [[nodiscard]] VmResult<void> make_disk();
  /// Marks the current contents of the disk, if any, as acknowledged: they must survive.
  [[nodiscard]] VmResult<void> mark_disk();
  /// Adds the ends of the scenario's logs to the message of a failed step.
  void add_logs(StepResult& result);
  [[nodiscard]] VmResult<StepResult> plug_cpu(CpuId cpu);
  [[nodiscard]] VmResult<StepResult> plug_memory(std::uint64_t bytes, int node);
  /// Verifies the guest's machine against its expected state after plugging.
  [[nodiscard]] VmResult<StepResult> look_at_machine();
  /// Reads a file of the guest repeatedly until `done` returns true.
  [[nodiscard]] VmResult<StepResult> wait_for(const std::string& path,
                                              const std::function<bool(const std::string&)>& done);
  /// Runs a command in the guest to its end; with killAt, the first command of the step is killed.
  [[nodiscard]] VmResult<Json> run_command(std::vector<std::string> argv,
                                           const std::string& cgroup);
  /// Returns the result of a step with killAt; nullopt if the command was not to be killed.
  [[nodiscard]] std::optional<StepResult> end_of_killed(const Json& reply) const;
  /// While the sampler runs: records the exclusive CPUs of each group.
  [[nodiscard]] VmResult<void> note_exclusive(StepResult& result);
  [[nodiscard]] VmResult<void> put_files();
  [[nodiscard]] VmResult<void> put(const std::string& path, const std::string& text);
  [[nodiscard]] VmResult<void> put_config(const KubeletSource& kubelet);
  [[nodiscard]] VmResult<Json> run_product(std::vector<std::string> arguments);
  /// Reads the product's desired cpusets; sets `problem` if its status cannot be read.
  [[nodiscard]] VmResult<std::vector<DesiredContainer>> desired(std::string& problem);
  /// Calls `pinfold start` for a container, or for all of a pod in order.
  [[nodiscard]] VmResult<StepResult> start_in_product(const Pod& pod, const std::string& container);
  [[nodiscard]] VmResult<StepResult> start_one(const StartStep& step, const std::string& name,
                                               const std::string& cgroup);
  [[nodiscard]] VmResult<ObservedContainer> look_at(const DesiredContainer& container);
  [[nodiscard]] VmResult<std::string> read_one(const std::string& path);
  /// Returns a container's cgroup; a full path is returned unchanged.
  [[nodiscard]] VmResult<std::string> folder_of(const std::string& group, StepResult& result);
  [[nodiscard]] VmResult<std::string> group_value(const Expectation& expectation,
                                                  const std::string& folder,
                                                  const std::string& name);
  [[nodiscard]] VmResult<void> expect_disjoint(const Expectation& expectation, StepResult& result);
  [[nodiscard]] VmResult<void> expect_threads(const Expectation& expectation, StepResult& result);
  [[nodiscard]] VmResult<void> expect_one(const Expectation& expectation, StepResult& result);
  /// Records the scenario's groups after a step that observes, for the report's picture.
  [[nodiscard]] VmResult<void> note_groups(const Action& action, StepResult& result);
  [[nodiscard]] VmResult<std::string> cgroup_of(const std::string& container, StepResult& result);

  [[nodiscard]] CgroupMode cgroup_mode() const { return scenario_.machine.platform.cgroup; }

  const Scenario& scenario_;
  const RunOptions& options_;
  Session& session_;
  VmMachine machine_;  ///< the scenario's machine plus plugged hardware
  Milliseconds time_limit_{30000};
  std::optional<KillPoint> kill_at_;  ///< of this step, until its first command has run
  bool sampling_ = false;
  int plugged_ = 0;          ///< memory devices
  ExclusiveCpus exclusive_;  ///< of all containers since the sampler started
  /// Cached desired cpusets, until a step may change them.
  std::optional<std::vector<DesiredContainer>> desired_;
  std::map<std::string, Pod> pods_;             ///< admitted, by name
  std::map<std::string, std::string> running_;  ///< program to cgroup
  std::map<std::string, RuntimePod> runtime_pods_;
};

}  // namespace pinfold::harness
