#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "guest/kubelet_requests.hpp"
#include "pinfold/harness/guest_session.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/run_options.hpp"
#include "pinfold/harness/scenario.hpp"
#include "pinfold/harness/scenario_result.hpp"

namespace pinfold::harness {

/// A pod that the product has admitted.
struct ScenarioPod {
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

/// A static pod that a kubelet runs.
struct RunningStaticPod {
  std::string uid;
  std::string cgroup;                             ///< "/kubepods/podUID"
  std::map<std::string, std::string> containers;  ///< name to the runtime's id
};

/// The kubelet of the guest.
// NOLINTNEXTLINE(bugprone-exception-escape): about json, whose moving asserts
struct StartedKubelet {
  std::string program;  ///< on the host: the one last started, else the machine's
  Json config;          ///< the scenario's, with the changes of the starts so far
  /// Each pod as the last `waitPod` observed it, by the name in its manifest.
  std::map<std::string, RunningStaticPod> pods;
  /// UIDs by name, including those of removed pods: the state files may still contain them.
  std::map<std::string, std::string> uids = {};
};

/// What the steps of a scenario share: its guest, and what is known about it.
struct StepContext {
  StepContext(const Scenario& its_scenario, const RunOptions& its_options,
              GuestSession& its_session)
      : scenario(its_scenario),
        options(its_options),
        session(its_session),
        machine(its_scenario.machine),
        kubelet{its_scenario.machine.kubelet, its_scenario.kubelet.config, {}} {}

  [[nodiscard]] VmResult<Json> ask(Json request);
  /// Writes a file of the guest.
  [[nodiscard]] VmResult<void> put(const std::string& path, const std::string& text);
  /// Reads a file of the guest; returns the same as file_value().
  [[nodiscard]] VmResult<std::string> read_one(const std::string& path);
  /// Returns true if a file of the guest has a line with this text.
  [[nodiscard]] VmResult<bool> has_line(const std::string& path, const std::string& text);
  /// Runs a command in the guest to its end; with killAt, the first command of the step is killed.
  [[nodiscard]] VmResult<Json> run_command(std::vector<std::string> argv,
                                           const std::string& cgroup);
  /// Returns the result of a step with killAt; nullopt if the command was not to be killed.
  [[nodiscard]] std::optional<StepResult> end_of_killed(const Json& reply) const;
  /// Returns the step's limit from its file, with the time scale: "3 s (--time-scale gives more
  /// time)", "3 s (x 4, --time-scale gives more time)".
  [[nodiscard]] std::string limit_text() const;
  [[nodiscard]] CgroupMode cgroup_mode() const { return scenario.machine.platform.cgroup; }

  const Scenario& scenario;
  const RunOptions& options;
  GuestSession& session;
  VmMachine machine;  ///< the scenario's machine plus plugged hardware
  Milliseconds time_limit{30000};
  std::optional<KillPoint> kill_at;  ///< of this step, until its first command has run
  bool sampling = false;
  int plugged = 0;          ///< memory devices
  ExclusiveCpus exclusive;  ///< of all containers since the sampler started
  /// While the witness runs: the exclusive CPUs after each of its marks, which each step makes.
  std::optional<std::vector<ExclusiveCpus>> witnessed;
  /// Cached desired cpusets, until a step may change them.
  std::optional<std::vector<DesiredContainer>> desired;
  std::map<std::string, ScenarioPod> pods;     ///< admitted, by name
  std::map<std::string, std::string> running;  ///< program to cgroup
  std::map<std::string, RuntimePod> runtime_pods;
  StartedKubelet kubelet;
};

/// Returns the value of one file in a reply to "read"; an error is returned as "(ENOENT)".
[[nodiscard]] std::string file_value(const Json& reply, const std::string& path);

}  // namespace pinfold::harness
