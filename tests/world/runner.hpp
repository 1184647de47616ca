#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "call_log.hpp"
#include "model.hpp"
#include "node.hpp"
#include "pinfold/gate/decision.hpp"
#include "plan_model.hpp"
#include "plugin_model.hpp"
#include "runtime.hpp"
#include "seen.hpp"
#include "watched_plugin.hpp"
#include "world.hpp"

namespace pinfold::world {

/// Runs a history and checks the promises.
class Runner {
 public:
  Runner(const History& history, Log log, Bug bug);

  [[nodiscard]] Outcome run() &&;

 private:
  /// A request of a client, and its answer.
  struct Pending {
    verbs::Action request;
    std::optional<Result<verbs::Answer>> answer = std::nullopt;
    std::optional<Planned> planned = std::nullopt;  ///< the plan, if the request plans
    bool met_processes = false;                     ///< had processes at the round's start
  };

  void act(const Action& action);
  void act_outside(const Action& action);
  [[nodiscard]] std::optional<verbs::Action> request_of(const Action& action) const;
  void submit(verbs::Action request);
  void round(const Faults& faults);
  void wait(std::chrono::seconds time, Faults faults);
  void look();
  void stop_service(const Faults& faults);
  void restart(const Faults& faults);
  void start_again();
  void connect();
  void start_service();
  void forget_what_ran();
  void act_without_service(const Action& action);
  void come_up(const Faults& faults);
  void change_node(verbs::Action request, const Faults& faults);
  void run_process(const Action& action);
  void end_init_containers(const PodUid& uid);
  void end_processes(const Action& action);
  void move_process(const Action& action);
  void check_processes(bool is_clean);
  void end_elsewhere();
  void end_strays();
  void restart_stranded();
  void quiet();
  void end();

  // runner_runtime.cpp
  bool ask(const std::function<void(nri::Follower&, agent::NodeAgent&)>& call);
  void act_in_runtime(const Action& action);
  void runtime_round(const Action& action);
  void check_told();
  void check_created(const Action& action, int first_new);
  void check_taken_back();

  // runner_barrier.cpp
  class GateHost;
  [[nodiscard]] bool asks_exclusive(const PodSpec& pod, const std::string& name) const;
  bool ask_to_adopt(const ContainerId& id, const std::string& directory);
  void revive();
  [[nodiscard]] Runtime::AtGate pass_gate(const Runtime::Pod& pod,
                                          const Runtime::Container& container);
  void judge_passed(const GateHost& host, const gate::ShownCpus& shown);
  void judge_refused(const GateHost& host);

  // promises_runtime.cpp
  void begin_call(const nri::PluginRequest& call);
  void end_call(const nri::PluginRequest& call, const Result<void>& answer);
  struct Decided;
  void judge_create(const nri::api::CreateContainerRequest& request, const Decided& decided,
                    const Result<void>& answer);
  [[nodiscard]] Decided decide_last(const ContainerId& id) const;
  [[nodiscard]] bool is_excused(const Decided& decided, const nri::api::Container& container,
                                const nri::api::PodSandbox& sandbox, const Error& error);
  void may_take_back(const ContainerId& id);
  void check_rejected(const Rejection& rejection, const Result<void>& answer);
  void judge_start(const nri::api::StateChangeEvent& event, const Decided& decided,
                   const Result<void>& answer);
  void check_reason(const Result<void>& answer);
  void expect_state(const agent::AgentState& actual, bool had_fault);
  [[nodiscard]] bool is_busy(const verbs::Action& change);
  [[nodiscard]] const PodSpec* spec_of(const PodUid& uid) const;
  [[nodiscard]] agent::AgentState with_groups(agent::AgentState expected,
                                              const agent::AgentState& actual);

  // promises_plan.cpp
  [[nodiscard]] std::optional<Planned> judge_dry_run(const Pending& dry);
  void judge_plan(const Pending& pending);
  void take_before(const Pending& pending);
  [[nodiscard]] bool can_apply(const Pending& pending) const;
  [[nodiscard]] static bool is_undo(const verbs::Action& request);

  // runner_hooks.cpp
  struct Hook;
  void hook_round(const Action& action);
  void start_hooked();
  void create_hooked(const Action& action);
  void delete_hooked(const Action& action);
  void run_hook(Hook& hook, const Faults& faults);
  [[nodiscard]] Result<void> ask_service(const std::function<void(agent::NodeAgent&)>& call);
  [[nodiscard]] verbs::HookOutcome admit(const Hook& hook, agent::NodeAgent& agent);
  void judge_hook(const Hook& hook);
  void log(const Hook& hook);
  [[nodiscard]] std::vector<agent::AgentState> states_after(const Hook& hook);
  void end_hooked(const ContainerId& id);
  [[nodiscard]] std::string running_group_of_other(const ContainerId& id);
  void end_group(const std::string& group);
  void empty(const std::string& group);
  [[nodiscard]] agent::AgentState without_adopted(const agent::AgentState& state,
                                                  const ContainerId& id);
  [[nodiscard]] agent::AgentState without_abandoned(agent::AgentState state,
                                                    const agent::AgentState& actual);

  // promises_foreign.cpp
  [[nodiscard]] std::string group_named_by(const Action& action, int container);
  void narrow(const Action& action);
  void trouble(const Action& action);
  void check_moved(const Operation& operation);
  void check_independent();
  void check_owners();
  [[nodiscard]] bool can_be_free(const ContainerId& id, const std::string& group,
                                 const CpuSet& cpus);
  [[nodiscard]] const Runtime::Pod* without_groups(const PodUid& uid) const;
  [[nodiscard]] bool names_own_trouble(const std::string& error, const verbs::Action& request);

  // promises.cpp
  void judge();
  void judge(Pending& pending);
  void recover();
  void check_recovered();
  void begin_log() { calls_.begin(model_node_, model_); }
  void log_ends(const agent::AgentState& actual);
  void judge_log();
  void prepare_owners();
  void own_model();
  [[nodiscard]] bool is_out_of_reach(const std::string& group) const;
  [[nodiscard]] bool must_contain(const std::string& group, const std::string& other) const;
  [[nodiscard]] bool is_stranded(const Seen& one) const;
  [[nodiscard]] CpuSet cpus_around(const std::string& group);
  [[nodiscard]] bool has_room(const std::string& group, const CpuSet& exclusive);
  [[nodiscard]] bool can_keep_off(const Seen& one, const CpuSet& exclusive, const CpuSet& both);
  void check_overlap(const Operation& operation);
  void check_files(bool is_settled);
  void check_knobs();
  void check_kernel();
  void check_empty();
  void check_enforced(const verbs::Answer& answer, const verbs::Action& request);
  void note_undecided(const Error& error, agent::AgentState next);
  [[nodiscard]] bool names_displaced(const std::string& error);
  [[nodiscard]] bool names_limited(const std::string& error);
  [[nodiscard]] bool admits_another_spec(const verbs::Action& request) const;
  [[nodiscard]] bool has_processes(const verbs::Action& request);
  [[nodiscard]] bool forgets_processes(const verbs::Action& admission);
  [[nodiscard]] bool runs_hooked(const ContainerId& id);
  [[nodiscard]] bool runs_below_root(const PodUid& uid, const std::string& container);

  void break_promise(std::string promise, std::string what);
  void note(const std::string& line) {
    if (log_ == Log::kOn) outcome_.log.push_back(line);
  }

  void record(const std::string& operation);

  const History& history_;
  Log log_;
  SimulatedNode node_;
  Outcome outcome_;
  bool had_fault_ = false;              ///< in this action
  Faults rest_;                         ///< faults of this action that have not struck
  bool is_behind_ = false;              ///< the kernel may lack committed changes
  bool has_failed_to_confine_ = false;  ///< of groups that only the plugin confines: it retries
  bool has_strays_ = false;             ///< processes of containers unknown to the state
  bool was_disturbed_ = false;          ///< others had changed groups before this action
  std::size_t number_ = 0;              ///< number of the action
  std::deque<Pending> pending_;
  std::shared_ptr<const Node> model_node_;  ///< the node that clients know
  agent::AgentState model_;
  /// States of requests whose records are still in the journal after two errors.
  std::vector<agent::AgentState> undecided_;
  CpuSet offline_;  ///< CPUs that the service knows to be offline
  CallLog calls_;
  std::optional<Before> before_;               ///< before the last reconfiguration
  bool is_before_unknown_ = false;             ///< the service was killed in a reconfiguration
  std::vector<agent::AgentState> candidates_;  ///< possible states of a service that starts again
  Runtime runtime_;
  PluginModel plugin_model_{[this](const PodUid& uid) { return spec_of(uid); }};
  PluginModel::Steps steps_;  ///< the steps that the runtime's call must lead to
  Bug bug_;
  bool has_to_create_again_ = false;      ///< a fault prevented an admission
  bool has_other_faults_ = false;         ///< the action has faults other than kills
  std::optional<ContainerId> asked_;      ///< the container that the runtime is asking about
  std::optional<ContainerId> refused_;    ///< refused by the plugin in this action
  bool is_taken_back_ = false;            ///< the decisions in `steps_` may have been taken back
  bool is_connected_ = false;             ///< the runtime has the plugin of this service
  bool is_at_gate_ = false;               ///< a gate decides about a container
  bool was_revived_ = false;              ///< the service was killed and came back in this action
  std::set<std::string> refused_starts_;  ///< ids of containers that were not allowed to start
  struct HookedGroup {
    int pod;  ///< its number
    std::string group;
    bool awaits_process;  ///< its runtime starts it before the next hook
  };
  std::map<ContainerId, HookedGroup> hooked_;  ///< containers that the hook has admitted
  std::set<std::string> waiting_;              ///< groups of containers whose hook is running
  int next_hooked_ = 1;
  std::map<int, CpuSet> told_;  ///< exclusive CPUs by the number of a running container
  int boots_ = 0;               ///< boots of the machine that the runtime knows of
  const agent::NodeAgent* in_turn_ = nullptr;  ///< the agent while the runtime asks it
  std::set<int> known_;                        ///< processes that the service has recorded
  std::map<int, ContainerId> moved_;           ///< those that others have moved out of their group
  std::set<int> strangers_;                    ///< processes that reuse the number of an ended one
  std::set<ContainerId> in_transit_;   ///< containers that gain or lose exclusive CPUs in an action
  std::map<std::string, CpuSet> had_;  ///< CPUs that each group has had throughout this action
  std::map<std::string, CpuSet> began_;  ///< CPUs of each group when the action began
  ContainerMap<CpuSet> owners_;          ///< exclusive CPUs before, during and after an action
};

}  // namespace pinfold::world
