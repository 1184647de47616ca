#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fake_knobs.hpp"
#include "fixture.hpp"
#include "model_kernel.hpp"
#include "node_samples.hpp"
#include "pinfold/agent/node_agent.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/nri_plugin/follower.hpp"
#include "pinfold/nri_plugin/make_follower.hpp"
#include "pinfold/nri_pods/asked.hpp"
#include "temp_dir.hpp"

namespace pinfold::nri::test {

/// Returns a pod with its own UID.
inline PodSpec named(const std::string& uid, const std::vector<std::string>& containers) {
  PodSpec spec = pod_with(containers);
  spec.uid = PodUid(uid);
  spec.name = uid;
  return spec;
}
/// Returns a pod with one container 'c' that has this many exclusive CPUs; shared() returns one
/// with none.
inline PodSpec exclusive(const std::string& uid, int cpus) {
  return named(uid, {limited("c", std::to_string(cpus), "64Mi")});
}
inline PodSpec shared(const std::string& uid) { return named(uid, {"{name: c}"}); }

/// A model kernel, the agent of two_sockets() with CPU 0 reserved, and a model of a runtime, which
/// makes groups below "/model/kubepods" and keeps a record of each container, as containerd does.
class RuntimeWorld {
 public:
  using MakeFollower = std::function<std::unique_ptr<Follower>(RuntimeWorld&)>;

  /// `make`: for a plugin other than Pinfold's.
  explicit RuntimeWorld(enforce::CgroupVersion version = enforce::CgroupVersion::kV2,
                        settings::NriMode mode = settings::NriMode::kEnforce, Config config = {},
                        MakeFollower make = {})
      : kernel(version, CpuSet::range(0, 7), CpuSet{0, 1}),
        mode_(mode),
        config_(std::move(config)),
        make_(std::move(make)) {
    restart();
    synchronize({});
  }

  /// Starts a new agent and a new plugin on the same state and kernel.
  void restart() {
    follower.reset();
    agent.reset();
    agent::AgentOptions options;
    options.state_dir = state.path();
    options.assigned_dir = state / "assigned";
    options.abandoned = agent::Abandoned::kDisown;
    options.open_knobs = [this] { return std::make_unique<pinfold::test::FakeKnobs>(knobs); };
    auto opened = agent::NodeAgent::open(pinfold::test::static_node(config_), open_store(),
                                         kernel.cgroups("pinfold"), std::move(options));
    if (!opened) throw std::runtime_error(opened.error().message);
    agent = std::make_unique<agent::NodeAgent>(*std::move(opened));
    is_connected = true;
    follower = make_ ? make_(*this) : make_follower(mode_, *agent, follower_options()).value();
  }
  /// Restarts the runtime: no more events report its current sandboxes.
  void restart_runtime() { earlier_ = sandboxes_; }
  [[nodiscard]] bool is_groupless(const PodSpec& spec) const {
    return handlers.contains(spec.uid) && groupless.contains(handlers.at(spec.uid));
  }
  /// Writes the cpuset of a group as another program does and, on cgroup v1, those of groups below
  /// it that would prevent that.
  void write_cpus(const std::string& group, const std::string& cpus) {
    auto* const dir = kernel.find(group);
    ASSERT_NE(dir, nullptr) << group;
    const CpuSet has = CpuSet::parse(dir->files["cpuset.cpus"]).value();
    const bool shrinks = has.contains_all(CpuSet::parse(cpus).value());
    if (kernel.version == enforce::CgroupVersion::kV1 && shrinks) {
      for (const auto& [name, child] : dir->children) write_cpus(group + "/" + name, cpus);
    }
    const auto written = kernel.fs()->write(group, "cpuset.cpus", cpus);
    EXPECT_TRUE(written.has_value()) << written.error().message;
  }
  /// Gives the sandboxes of this pod the resources annotation.
  void announce(const PodSpec& spec) { announced_.insert(spec.uid); }
  [[nodiscard]] FollowerOptions follower_options() {
    FollowerOptions options;
    options.pod_level = settings::PodLevelResources::kAnnotated;
    options.mount = "/model";
    options.handlers_without_groups = declared;
    options.assigned_for = told;
    options.log = [this](agent::LogLevel level, std::string_view message) {
      if (level >= agent::LogLevel::kWarning) log.emplace_back(message);
    };
    options.age = [this](pid_t process) { return ages.contains(process) ? ages.at(process) : 0.0; };
    return options;
  }

  [[nodiscard]] api::PodSandbox sandbox(const PodSpec& spec) const {
    const auto other = counted.find(spec.uid);
    api::PodSandbox sandbox = sandbox_of(other == counted.end() ? spec : other->second);
    if (asks.contains(spec.uid)) {
      (*sandbox.mutable_annotations())[std::string(kAssignedAnnotation)] = asks.at(spec.uid);
    }
    if (quiet_levels.contains(spec.uid)) {
      (*sandbox.mutable_annotations())[std::string(kQuietAnnotation)] = quiet_levels.at(spec.uid);
    }
    sandbox.set_pid(1);
    if (handlers.contains(spec.uid)) sandbox.set_runtime_handler(handlers.at(spec.uid));
    if (announced_.contains(spec.uid)) {
      (*sandbox.mutable_annotations())[std::string(kResourcesAnnotation)] = annotation_of(spec);
    }
    return sandbox;
  }
  [[nodiscard]] static std::string id_of(const PodSpec& spec, const std::string& name = "c") {
    return spec.uid.value + "-" + name;
  }
  /// Returns a container as the runtime shows it, with the cpuset on record.
  [[nodiscard]] api::Container container(const PodSpec& spec, const std::string& name = "c") {
    api::Container shown = container_of(spec, *spec.find(name));
    const std::string id = id_of(spec, name) + suffix;
    shown.set_id(id);
    shown.set_pod_sandbox_id(sandbox(spec).id());
    shown.mutable_linux()->set_cgroups_path(sandbox(spec).linux().cgroup_parent() + "/" + id);
    api::LinuxCPU& cpu = *shown.mutable_linux()->mutable_resources()->mutable_cpu();
    if (record.contains(id)) cpu.set_cpus(record[id]);
    if (quotas.contains(id)) cpu.mutable_quota()->set_value(quotas[id]);
    if (resized_.contains(id)) cpu.mutable_shares()->set_value(cpu_shares(1000 * resized_[id]));
    const auto* const dir = kernel.find(group_of(shown));
    if (dir != nullptr && !dir->processes.empty()) {
      shown.set_pid(static_cast<std::uint32_t>(*dir->processes.begin()));
    }
    return shown;
  }
  [[nodiscard]] std::string group(const PodSpec& spec, const std::string& name = "c") {
    return group_of(container(spec, name));
  }
  [[nodiscard]] std::string pause_group(const PodSpec& spec) {
    return sandbox(spec).linux().cgroup_parent().substr(1) + "/" + sandbox(spec).id();
  }

  Result<void> send(api::Event event, const PodSpec& spec, const std::string& name = "") {
    api::StateChangeEvent message;
    message.set_event(event);
    *message.mutable_pod() = sandbox(spec);
    if (!name.empty()) *message.mutable_container() = container(spec, name);
    return ask([&] { return follower->change(*agent, message); });
  }
  /// Makes the sandbox's group with its process and reports the sandbox. After an error the group
  /// remains.
  Result<void> try_sandbox(const PodSpec& spec) {
    kernel.make_path(pause_group(spec));
    kernel.find(pause_group(spec))->processes = {next_process_++};
    sandboxes_.insert(spec.uid);
    return send(api::Event::RUN_POD_SANDBOX, spec);
  }
  void run_sandbox(const PodSpec& spec) { ASSERT_TRUE(try_sandbox(spec).has_value()); }
  /// Creates a container and records the plugin's answer.
  Result<api::CreateContainerResponse> create(const PodSpec& spec, const std::string& name = "c") {
    auto answer = ask_to_create(spec, name);
    if (answer) finish_creation(spec, *answer, name);
    return answer;
  }
  /// Does the first half of create(): other containers are updated, the new one is not visible yet.
  Result<api::CreateContainerResponse> ask_to_create(const PodSpec& spec,
                                                     const std::string& name = "c") {
    api::CreateContainerRequest request;
    *request.mutable_pod() = sandbox(spec);
    const std::string id = id_of(spec, name) + suffix;
    record.erase(id);
    quotas.erase(id);
    if (!kubelet_cpus.empty()) record[id] = kubelet_cpus;
    *request.mutable_container() = container(spec, name);
    being_created_.insert(id);
    auto answer = ask([&] { return follower->create(*agent, request); });
    if (answer) put_all(*answer);
    return answer;
  }
  void finish_creation(const PodSpec& spec, const api::CreateContainerResponse& answer,
                       const std::string& name = "c") {
    const api::LinuxCPU& cpu = answer.adjust().linux().resources().cpu();
    if (!cpu.cpus().empty()) record[id_of(spec, name) + suffix] = cpu.cpus();
    if (cpu.has_quota()) quotas[id_of(spec, name) + suffix] = cpu.quota().value();
    being_created_.erase(id_of(spec, name) + suffix);
    EXPECT_TRUE(send(api::Event::POST_CREATE_CONTAINER, spec, name).has_value());
  }
  /// Does `runc update` of a container, and records it. Without CPUs, or while the container is
  /// being created, nothing changes; a failure is only a warning.
  void put(const api::ContainerUpdate& update) {
    const std::string& id = update.container_id();
    const api::LinuxCPU& cpu = update.linux().resources().cpu();
    const std::string& cpus = cpu.cpus();
    if (being_created_.contains(id)) return;
    if (cpu.has_quota()) quotas[id] = cpu.quota().value();
    if (cpus.empty()) return;
    const auto started = groups_.find(id);
    if (started != groups_.end() && kernel.find(started->second) != nullptr) {
      const auto written = kernel.fs()->write(started->second, "cpuset.cpus", cpus);
      if (!written) return runtime_log.push_back("update failed: " + written.error().message);
    }
    record[id] = cpus;
  }
  void put(const std::string& container_id, const std::string& cpus) {
    put(cpus_update(container_id, cpus));
  }
  template <class Answer>
  void put_all(const Answer& answer) {
    for (const api::ContainerUpdate& update : answer.update()) put(update);
  }
  /// Lets the plugin send its own request. If the runtime is waiting for an answer of the plugin,
  /// both wait until the runtime gives up on the plugin.
  void update_by_itself(const api::ContainerUpdate& update) {
    if (is_asking_) {
      is_connected = false;
      return;
    }
    put(update);
  }
  /// Does CRI UpdateContainerResources. The plugin's answer for this container takes precedence.
  void update_by_cri(const PodSpec& spec, const std::string& cpus) {
    api::UpdateContainerRequest request;
    *request.mutable_pod() = sandbox(spec);
    *request.mutable_container() = container(spec);
    request.mutable_linux_resources()->mutable_cpu()->set_cpus(cpus);
    const auto answer = ask([&] { return follower->update(*agent, request); }).value();
    if (answer.update_size() == 0 || answer.update(0).container_id() != request.container().id()) {
      put(cpus_update(request.container().id(), cpus));
    }
    put_all(answer);
    EXPECT_TRUE(send(api::Event::POST_UPDATE_CONTAINER, spec, "c").has_value());
  }
  /// Does CRI UpdateContainerResources like a kubelet that resizes a pod.
  Result<void> resize_by_cri(const PodSpec& spec, std::int64_t cpus) {
    api::UpdateContainerRequest request;
    *request.mutable_pod() = sandbox(spec);
    *request.mutable_container() = container(spec);
    api::LinuxCPU& cpu = *request.mutable_linux_resources()->mutable_cpu();
    cpu.mutable_shares()->set_value(cpu_shares(1000 * cpus));
    cpu.mutable_period()->set_value(100'000);
    cpu.mutable_quota()->set_value(cpu_quota(1000 * cpus, 100'000));
    const auto answer = ask([&] { return follower->update(*agent, request); });
    if (!answer) return fail(answer.error());
    put_all(*answer);
    resized_[request.container().id()] = cpus;
    return send(api::Event::POST_UPDATE_CONTAINER, spec, "c");
  }
  [[nodiscard]] static api::ContainerUpdate cpus_update(const std::string& id,
                                                        const std::string& cpus) {
    api::ContainerUpdate update;
    update.set_container_id(id);
    update.mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus(cpus);
    return update;
  }
  /// Makes a group as `runc create` does.
  void make_group(const PodSpec& spec, const std::string& name = "c") {
    kernel.make_path(group(spec, name));
    auto* const dir = kernel.find(group(spec, name));
    dir->processes = {next_process_++};
    const auto on_record = record.find(id_of(spec, name) + suffix);
    if (on_record != record.end()) dir->files["cpuset.cpus"] = on_record->second;
    groups_[id_of(spec, name) + suffix] = group(spec, name);
  }
  /// Starts a container. If the plugin rejects it, ends it as containerd does.
  Result<void> start(const PodSpec& spec, const std::string& name = "c") {
    if (!is_groupless(spec)) make_group(spec, name);
    auto started = send(api::Event::START_CONTAINER, spec, name);
    if (started) return send(api::Event::POST_START_CONTAINER, spec, name);
    stop(spec, name);
    return started;
  }
  /// Ends the container's process and removes its group.
  void end(const PodSpec& spec, const std::string& name = "c") {
    kernel.find(group(spec, name))->processes.clear();
    ASSERT_TRUE(kernel.fs()->remove_group(group(spec, name)).has_value());
  }
  void stop(const PodSpec& spec, const std::string& name = "c") {
    if (!is_groupless(spec)) end(spec, name);
    api::StopContainerRequest request;
    *request.mutable_pod() = sandbox(spec);
    *request.mutable_container() = container(spec, name);
    put_all(ask([&] { return follower->stop(*agent, request); }));
  }
  /// Removes the sandbox with all its containers, which have stopped.
  void remove_sandbox(const PodSpec& spec) {
    remove_groups(spec);
    if (earlier_.erase(spec.uid) != 0) return;
    ASSERT_TRUE(send(api::Event::STOP_POD_SANDBOX, spec).has_value());
    ASSERT_TRUE(send(api::Event::REMOVE_POD_SANDBOX, spec).has_value());
  }
  void remove_groups(const PodSpec& spec) {
    sandboxes_.erase(spec.uid);
    kernel.find(pause_group(spec))->processes.clear();
    ASSERT_TRUE(kernel.fs()->remove_group(pause_group(spec)).has_value());
    const std::string pod = sandbox(spec).linux().cgroup_parent().substr(1);
    ASSERT_TRUE(kernel.fs()->remove_group(pod).has_value());
  }
  /// Runs a pod and starts its container.
  void run(const PodSpec& spec) {
    run_sandbox(spec);
    const auto created = create(spec);
    ASSERT_TRUE(created.has_value()) << created.error().message;
    const auto started = start(spec);
    ASSERT_TRUE(started.has_value()) << started.error().message;
  }
  /// Runs a pod while no plugin is connected.
  void run_unseen(const PodSpec& spec) {
    kernel.make_path(pause_group(spec));
    kernel.find(pause_group(spec))->processes = {next_process_++};
    make_group(spec);
  }
  void synchronize(const std::vector<PodSpec>& running,
                   api::ContainerState shown_as = api::ContainerState::CONTAINER_RUNNING) {
    synchronize_with(to_synchronize(running, shown_as));
  }
  void synchronize_with(const api::SynchronizeRequest& request) {
    put_all(ask([&] { return follower->synchronize(*agent, request); }));
  }
  [[nodiscard]] api::SynchronizeRequest to_synchronize(
      const std::vector<PodSpec>& running,
      api::ContainerState shown_as = api::ContainerState::CONTAINER_RUNNING) {
    api::SynchronizeRequest request;
    for (const PodSpec& spec : running) {
      *request.add_pods() = sandbox(spec);
      api::Container shown = container(spec);
      shown.set_state(shown_as);
      if (shown_as == api::ContainerState::CONTAINER_CREATED) groups_.erase(shown.id());
      *request.add_containers() = std::move(shown);
    }
    return request;
  }

  /// Returns the CPUs that processes of a group can use.
  [[nodiscard]] std::string cpus(const std::string& of_group) {
    auto* const dir = kernel.find(of_group);
    return dir == nullptr ? "gone" : kernel.effective(*dir, "cpuset.cpus").to_string();
  }
  [[nodiscard]] std::string cpus(const PodSpec& spec, const std::string& name = "c") {
    return cpus(group(spec, name));
  }

  pinfold::test::TempDir state;
  std::function<checkpoint::Store()> open_store = [this] {
    return checkpoint::Store::open(state.path()).value();
  };
  pinfold::test::ModelKernel kernel;
  std::vector<std::string> log;
  std::vector<std::string> runtime_log;
  std::map<std::string, std::string> record;   ///< container id to cpuset
  std::map<std::string, std::int64_t> quotas;  ///< container id to CFS quota, once changed
  std::map<pid_t, double> ages;                ///< of processes, in seconds
  std::string kubelet_cpus;                    ///< the cpuset with which containers arrive
  std::string suffix;                          ///< suffix of container ids, to distinguish runs
  std::map<PodUid, std::string> handlers;      ///< of the runtime classes of pods
  std::set<std::string> groupless;             ///< handlers that make no group per container
  std::vector<std::string> declared;           ///< the groupless handlers that the settings name
  std::map<PodUid, std::string> asks;          ///< kAssignedAnnotation of pods
  std::map<PodUid, std::string> quiet_levels;  ///< kQuietAnnotation of pods
  std::map<PodUid, PodSpec> counted;           ///< pods whose sandbox shows other resources
  pinfold::test::KnobWorld knobs;              ///< interrupts and such that can leave quiet CPUs
  settings::AssignedFor told = settings::AssignedFor::kAnnotated;
  std::unique_ptr<agent::NodeAgent> agent;
  std::unique_ptr<Follower> follower;
  bool is_connected = true;  ///< otherwise the runtime acts as if the plugin agreed

 private:
  /// Returns the plugin's answer, if the runtime still waits for it.
  template <class Ask>
  auto ask(Ask do_ask) -> decltype(do_ask()) {
    using Answer = decltype(do_ask());
    if (!is_connected) return Answer();
    is_asking_ = true;
    auto answer = do_ask();
    is_asking_ = false;
    return is_connected ? answer : Answer();
  }
  [[nodiscard]] static std::string group_of(const api::Container& container) {
    return container.linux().cgroups_path().substr(1);
  }

  settings::NriMode mode_;
  Config config_;
  MakeFollower make_;
  bool is_asking_ = false;
  std::set<PodUid> announced_;
  std::set<PodUid> sandboxes_;
  std::set<PodUid> earlier_;                     ///< from before the last start of the runtime
  std::set<std::string> being_created_;          ///< container ids
  std::map<std::string, std::int64_t> resized_;  ///< container id to CPUs, once resized
  std::map<std::string, std::string> groups_;    ///< container id to its group, once started
  int next_process_ = 1'000'000'000;             ///< above any real PID
};

}  // namespace pinfold::nri::test
