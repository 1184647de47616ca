#include "runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kubelet_messages.hpp"

namespace pinfold::world {
namespace {

namespace api = nri::api;

api::Container shown(const Runtime::Pod& pod, const Runtime::Container& container) {
  api::Container message = nri::test::container_of(pod.spec, *pod.spec.find(container.name));
  const api::PodSandbox sandbox = nri::test::sandbox_of(pod.spec);
  message.set_id(container.id);
  message.set_pod_sandbox_id(pod.id);
  message.set_state(container.phase == Runtime::Phase::kRunning
                        ? api::ContainerState::CONTAINER_RUNNING
                        : api::ContainerState::CONTAINER_CREATED);
  message.mutable_linux()->set_cgroups_path(sandbox.linux().cgroup_parent() + "/" + container.id);
  if (!container.cpus.empty()) {
    message.mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus(container.cpus);
  }
  return message;
}

api::PodSandbox shown(const Runtime::Pod& pod) {
  api::PodSandbox sandbox = nri::test::sandbox_of(pod.spec);
  sandbox.set_id(pod.id);
  sandbox.set_pid(1);
  sandbox.set_runtime_handler(pod.handler);
  // Histories create the containers of a pod in any order and do not wait for the end of init
  // containers, so together they can have more than the pod. An annotation is compared with it.
  const bool is_annotated = sandbox.annotations().contains(std::string(nri::kResourcesAnnotation));
  if (!is_annotated) sandbox.mutable_linux()->clear_pod_resources();
  return sandbox;
}

api::StateChangeEvent event_of(api::Event event, const Runtime::Pod& pod,
                               const Runtime::Container* container) {
  api::StateChangeEvent message;
  message.set_event(event);
  *message.mutable_pod() = shown(pod);
  if (container != nullptr) *message.mutable_container() = shown(pod, *container);
  return message;
}

}  // namespace

std::string Runtime::group_of(const Pod& pod) {
  return nri::test::sandbox_of(pod.spec).linux().cgroup_parent().substr(1);
}
std::string Runtime::group_of(const Pod& pod, const Container& container) {
  return group_of(pod) + "/" + container.id;
}
std::string Runtime::group_of_sandbox(const Pod& pod) { return group_of(pod) + "/" + pod.id; }

Runtime::Container* Runtime::find(int number, const std::string& name) {
  const auto pod = pods_.find(number);
  if (pod == pods_.end()) return nullptr;
  const auto found = std::find_if(pod->second.containers.begin(), pod->second.containers.end(),
                                  [&](const Container& one) { return one.name == name; });
  return found == pod->second.containers.end() ? nullptr : &*found;
}

bool Runtime::ask(const std::function<void(nri::Follower&, Agent&)>& call) {
  const bool is_answered = ask_(call);
  if (is_killed_) throw Killed();
  return is_answered;
}

/// Restarts the runtime: unfinished work is lost, that is, containers that have not started and the
/// rest of pods that were being removed.
void Runtime::come_back() {
  is_killed_ = false;
  late_updates_.Clear();
  for (auto it = pods_.begin(); it != pods_.end();) {
    Pod& pod = it->second;
    for (const Container& container : pod.containers) {
      if (container.phase == Phase::kCreated) remove_group(group_of(pod, container));
    }
    std::erase_if(pod.containers, [](const auto& one) { return one.phase == Phase::kCreated; });
    const bool was_leaving = kernel_->find(group_of_sandbox(pod)) == nullptr;
    if (was_leaving) remove_group(group_of(pod));
    it = was_leaving ? pods_.erase(it) : std::next(it);
  }
  synchronize();
}

void Runtime::forget() {
  pods_.clear();
  unconfirmed_.clear();
  late_.clear();
  late_updates_.Clear();
}

std::string Runtime::new_id(const std::string& name) {
  return events_ == Events::kSameIds ? name : fmt::format("{}-{}", name, next_id_++);
}

bool Runtime::send(api::Event event, const Pod& pod, const Container* container) {
  return ask([message = event_of(event, pod, container)](nri::Follower& follower, Agent& agent) {
    (void)follower.change(agent, message);
  });
}

/// Sends a call that reports an end; some runtimes send it late.
void Runtime::send_end(const Pod& pod, std::function<void(nri::Follower&, Agent&)> call) {
  const bool is_late = events_ == Events::kSwapped || events_ == Events::kSameIds;
  if (is_late) {
    late_[pod.spec.uid].push_back(std::move(call));
  } else {
    (void)ask(call);
  }
}

void Runtime::send_end(api::Event event, const Pod& pod, const Container* container) {
  send_end(pod, [message = event_of(event, pod, container)](nri::Follower& follower, Agent& agent) {
    (void)follower.change(agent, message);
  });
}

void Runtime::send_late(const PodUid& pod) {
  const auto found = late_.find(pod);
  if (found == late_.end()) return;
  for (const auto& call : std::exchange(found->second, {})) (void)ask(call);
}

void Runtime::apply(const Updates& updates) {
  if (is_killed_) return;
  if (events_ == Events::kLateUpdates) return late_updates_.MergeFrom(updates);
  write(updates);
}

/// Applies updates like `runc update`: to the record, and to the kernel if the group exists.
void Runtime::write(const Updates& updates) {
  for (const api::ContainerUpdate& update : updates) {
    const std::string& cpus = update.linux().resources().cpu().cpus();
    if (cpus.empty()) continue;
    for (auto& [number, pod] : pods_) {
      for (Container& container : pod.containers) {
        if (container.id != update.container_id()) continue;
        container.cpus = cpus;
        const std::string group = group_of(pod, container);
        if (kernel_->find(group) == nullptr) continue;
        if (kernel_->fs()->write(group, "cpuset.cpus", cpus)) changed_(group);
      }
    }
  }
}

void Runtime::run_sandbox(int number, const PodSpec& spec, const std::string& handler) {
  if (pods_.contains(number)) return;
  Pod& pod = pods_[number] = {spec, new_id("sandbox-of-" + spec.uid.value), handler, {}};
  const std::string pause = group_of_sandbox(pod);
  kernel_->make_path(pause);
  kernel_->find(pause)->processes = {next_process_++};
  unconfirmed_.insert(pause);
  if (send(api::Event::RUN_POD_SANDBOX, pod, nullptr)) unconfirmed_.erase(pause);
}

void Runtime::create(int number, const std::string& name) {
  const auto found = pods_.find(number);
  if (found == pods_.end() || found->second.spec.find(name) == nullptr) return;
  Pod& pod = found->second;
  if (Container* const before = find(number, name)) {
    if (before->phase != Phase::kExited) return;
    std::erase_if(pod.containers, [&](const Container& one) { return one.name == name; });
  }
  Container container{name, new_id(fmt::format("{}-{}", pod.spec.uid, name)), next_number_++};
  api::CreateContainerRequest request;
  *request.mutable_pod() = shown(pod);
  *request.mutable_container() = shown(pod, container);
  bool is_refused = false;
  const bool is_asked = ask([&](nri::Follower& follower, Agent& agent) {
    const auto answer = follower.create(agent, request);
    is_refused = !answer;
    if (!answer) return;
    container.cpus = answer->adjust().linux().resources().cpu().cpus();
    apply(answer->update());
  });
  if (!is_asked) container.cpus.clear();
  if (is_refused) {  // as containerd: both events follow for its id
    send_stop(pod, container);
    return (void)send(api::Event::REMOVE_CONTAINER, pod, &container);
  }
  pod.containers.push_back(container);
  (void)send(api::Event::POST_CREATE_CONTAINER, pod, &container);
}

/// Throws Killed.
Runtime::AtGate Runtime::pass_gate(const Pod& pod, const Container& container) {
  const AtGate verdict = pod.handler.empty() ? gate_(pod, container) : AtGate::kPasses;
  if (is_killed_) throw Killed();
  return verdict;
}

/// Asks the plugin: its error keeps the container from starting, an absent plugin does not.
bool Runtime::may_start(const Pod& pod, Container& container) {
  const auto message = event_of(api::Event::START_CONTAINER, pod, &container);
  bool is_refused = false;
  container.is_confirmed = ask([&](nri::Follower& follower, Agent& agent) {
    is_refused = !follower.change(agent, message).has_value();
  });
  container.is_asked = container.is_confirmed;
  return !is_refused;
}

void Runtime::start(int number, const std::string& name) {
  Container* const container = find(number, name);
  if (container == nullptr || container->phase != Phase::kCreated) return;
  const Pod& pod = pods_.at(number);
  const std::string group = group_of(pod, *container);
  if (pod.handler.empty()) make_group(group, container->cpus);
  const AtGate verdict = pass_gate(pod, *container);
  if (verdict == AtGate::kIsGone) return;
  if (verdict == AtGate::kIsRefused) return end(pod, *container);
  if (!may_start(pod, *container)) return end(pod, *container);
  if (container->is_confirmed) unconfirmed_.erase(group);
  container->phase = Phase::kRunning;
  (void)send(api::Event::POST_START_CONTAINER, pod, container);
  send_late(pod.spec.uid);
  write(std::exchange(late_updates_, {}));
}

void Runtime::make_group(const std::string& group, const std::string& cpus) {
  kernel_->make_path(group);
  kernel_->find(group)->processes = {next_process_++};
  if (!cpus.empty()) (void)kernel_->fs()->write(group, "cpuset.cpus", cpus);
  unconfirmed_.insert(group);
}

void Runtime::remove_group(const std::string& group) {
  auto* const dir = kernel_->find(group);
  if (dir == nullptr) return;
  dir->processes.clear();
  unconfirmed_.erase(group);
  (void)kernel_->fs()->remove_group(group);
}

void Runtime::end(const Pod& pod, Container& container) {
  auto* const dir = kernel_->find(group_of(pod, container));
  if (dir != nullptr) dir->children.clear();  // groups that the container has made
  remove_group(group_of(pod, container));
  container.phase = Phase::kExited;
  send_stop(pod, container);
}

void Runtime::send_stop(const Pod& pod, const Container& container) {
  api::StopContainerRequest request;
  *request.mutable_pod() = shown(pod);
  *request.mutable_container() = shown(pod, container);
  send_end(pod, [this, request](nri::Follower& follower, Agent& agent) {
    apply(follower.stop(agent, request).update());
  });
}

void Runtime::stop(int number, const std::string& name) {
  Container* const container = find(number, name);
  if (container == nullptr || container->phase == Phase::kExited) return;
  end(pods_.at(number), *container);
}

void Runtime::remove_sandbox(int number) {
  const auto found = pods_.find(number);
  if (found == pods_.end()) return;
  Pod& pod = found->second;
  for (Container& container : pod.containers) {
    if (container.phase != Phase::kExited) end(pod, container);
  }
  remove_group(group_of_sandbox(pod));
  send_end(api::Event::STOP_POD_SANDBOX, pod, nullptr);
  remove_group(group_of(pod));
  while (!pod.containers.empty()) {
    const Container container = pod.containers.back();
    pod.containers.pop_back();
    send_end(api::Event::REMOVE_CONTAINER, pod, &container);
  }
  const Pod removed = std::move(pod);
  pods_.erase(found);
  send_end(api::Event::REMOVE_POD_SANDBOX, removed, nullptr);
}

std::vector<int> Runtime::stranded() const {
  const auto is_empty = [&](const std::string& group) {
    const auto* const dir = kernel_->find(group);
    return dir != nullptr && !is_populated(*dir);
  };
  std::vector<int> numbers;
  for (const auto& [number, pod] : pods_) {
    const bool has_lost = std::any_of(
        pod.containers.begin(), pod.containers.end(), [&, &of = pod](const Container& one) {
          return one.phase == Phase::kRunning && is_empty(group_of(of, one));
        });
    const bool is_without_pause = is_empty(group_of_sandbox(pod));
    if (has_lost || is_without_pause) numbers.push_back(number);
  }
  return numbers;
}

/// Omits exited containers.
void Runtime::synchronize() {
  api::SynchronizeRequest request;
  for (const auto& [number, pod] : pods_) {
    *request.add_pods() = shown(pod);
    for (const Container& container : pod.containers) {
      if (container.phase != Phase::kExited) *request.add_containers() = shown(pod, container);
    }
  }
  const bool is_answered = ask([&](nri::Follower& follower, Agent& agent) {
    apply(follower.synchronize(agent, request).update());
  });
  if (!is_answered) return;
  late_.clear();  // events from before the connection are never sent
  unconfirmed_.clear();
  for (auto& [number, pod] : pods_) {
    for (Container& container : pod.containers) container.is_confirmed = true;
  }
}

}  // namespace pinfold::world
