#pragma once

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
      : scenario_(scenario), options_(options), session_(session) {}

  /// Puts the scenario's files, the product's configuration and its cgroup root into the guest.
  [[nodiscard]] VmResult<void> prepare();
  [[nodiscard]] VmResult<StepResult> run(const Step& step);

 private:
  [[nodiscard]] VmResult<StepResult> act(const AdmitStep& step);
  [[nodiscard]] VmResult<StepResult> act(const StartStep& step);
  [[nodiscard]] VmResult<StepResult> act(const StopStep& step);
  [[nodiscard]] VmResult<StepResult> act(const RemoveStep& step);
  [[nodiscard]] VmResult<StepResult> act(const RestartStep& step);
  [[nodiscard]] VmResult<StepResult> act(const CpusStep& step);
  [[nodiscard]] VmResult<StepResult> act(const ExecStep& step);
  [[nodiscard]] VmResult<StepResult> act(const WriteStep& step);
  [[nodiscard]] VmResult<StepResult> act(const ExpectStep& step);
  [[nodiscard]] VmResult<StepResult> act(const VerifyStep& step);

  /// A pod that the product has admitted.
  struct Pod {
    std::string uid;
    std::vector<std::string> containers;
    bool counts_as_started = true;
  };

  [[nodiscard]] VmResult<Json> ask(Json request);
  [[nodiscard]] VmResult<void> put(const std::string& path, const std::string& text);
  [[nodiscard]] VmResult<void> put_config(const KubeletSource& kubelet);
  [[nodiscard]] VmResult<Json> run_product(std::vector<std::string> arguments);
  /// What the product says it has decided; `problem` is filled in if it says something else.
  [[nodiscard]] VmResult<std::vector<DecidedContainer>> decided(std::string& problem);
  /// Tells the product that a container starts, or all of a pod in their order.
  [[nodiscard]] VmResult<StepResult> tell_product(const Pod& pod, const std::string& container);
  [[nodiscard]] VmResult<StepResult> start_one(const StartStep& step, const std::string& name,
                                               const std::string& cgroup);
  [[nodiscard]] VmResult<KernelContainer> look_at(const DecidedContainer& container);
  [[nodiscard]] VmResult<std::string> read_one(const std::string& path);
  /// A container's group, or the full path that is there instead.
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

  [[nodiscard]] CgroupMode cgroup_mode() const { return scenario_.machine.cgroup; }

  const Scenario& scenario_;
  const RunOptions& options_;
  Session& session_;
  Milliseconds time_limit_{30000};
  /// The product's decisions, until a step that may change them.
  std::optional<std::vector<DecidedContainer>> decided_;
  std::map<std::string, Pod> pods_;             ///< admitted, by name
  std::map<std::string, std::string> running_;  ///< program to its cgroup
};

}  // namespace pinfold::harness
