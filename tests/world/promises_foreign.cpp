// Runner: what foreign programs do to the groups of a kubelet and of containers, and what must not
// follow from it.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "runner.hpp"
#include "samples.hpp"
#include "seen.hpp"

namespace pinfold::world {
namespace {

using agent::AgentState;

/// Returns "kubepods/besteffort/podp1" for "kubepods/besteffort/podp1/a-3".
std::string group_around(const std::string& group) { return group.substr(0, group.rfind('/')); }

std::vector<PodUid> pods_in(const verbs::Action& request) {
  std::vector<PodUid> pods;
  if (const auto* const admit = std::get_if<verbs::Admit>(&request)) {
    for (const PodSpec& pod : admit->pods) pods.push_back(pod.uid);
  }
  if (const auto* const start = std::get_if<verbs::Start>(&request)) {
    pods.push_back(start->container.pod);
  }
  if (const auto* const remove = std::get_if<verbs::Remove>(&request)) {
    pods.push_back(remove->pod);
  }
  return pods;
}

}  // namespace

/// Returns the group of a pod's container "a" (0) or "b" (1), made by any program; "": there is
/// none.
std::string Runner::group_named_by(const Action& action, int container) {
  const std::string name = container == 0 ? "a" : "b";
  const ContainerId id{uid_of(action.pod), name};
  if (const auto hooked = hooked_.find(id); hooked != hooked_.end()) return hooked->second.group;
  if (const auto pod = runtime_.pods().find(action.pod); pod != runtime_.pods().end()) {
    for (const Runtime::Container& one : pod->second.containers) {
      if (one.name == name) return Runtime::group_of(pod->second, one);
    }
    return "";
  }
  const std::string own = fmt::format("{}/pod{}/{}", kRoot, id.pod, name);
  return node_.kernel.find(own) == nullptr ? "" : own;
}

/// Returns the pod if its runtime class makes no group for each container; null otherwise.
const Runtime::Pod* Runner::without_groups(const PodUid& uid) const {
  for (const auto& [number, pod] : runtime_.pods()) {
    if (pod.spec.uid == uid && !pod.handler.empty()) return &pod;
  }
  return nullptr;
}

/// Narrows groups of the kubelet, but not Pinfold's own: see Action::Kind::kRewrite.
void Runner::narrow(const Action& action) {
  const Narrowed what = Narrowed::of(action.value);
  switch (what.which) {
    case Narrowed::Which::kBestEffort:
      return node_.narrow("kubepods/besteffort", what.cpus, true);
    case Narrowed::Which::kBurstable:
      return node_.narrow("kubepods/burstable", what.cpus, false);
    case Narrowed::Which::kPod: {
      const std::string group = group_named_by(action, 0);
      if (group.starts_with("kubepods/")) node_.narrow(group_around(group), what.cpus, false);
      return;
    }
  }
}

void Runner::trouble(const Action& action) {
  const SoftTrouble what = SoftTrouble::of(action.value);
  const std::string group = group_named_by(action, what.container);
  if (group.empty()) return;
  const bool is_of_pod = what.what == SoftTrouble::What::kPodIdle;
  node_.trouble(is_of_pod ? group_around(group) : group, what.what);
}

/// Returns true if an error is about a group with soft values set by others, and the request was
/// about its pod or about all pods.
bool Runner::names_own_trouble(const std::string& error, const verbs::Action& request) {
  const auto pods = pods_in(request);
  return std::any_of(node_.soft().begin(), node_.soft().end(), [&](const std::string& group) {
    const std::string below = group.substr(group.find('/') + 1);  // "podp1/a"
    const auto is_its_pod = [&](const PodUid& uid) {
      const std::string pod = "pod" + uid.value;
      return below == pod || below.starts_with(pod + "/");
    };
    const bool is_meant = pods.empty() || std::any_of(pods.begin(), pods.end(), is_its_pod);
    return is_meant && error.find(below) != std::string::npos;
  });
}

/// Returns true if only Pinfold could keep a container off these CPUs: the group around its own has
/// them, and all other containers have room elsewhere.
bool Runner::can_be_free(const ContainerId& id, const std::string& group, const CpuSet& cpus) {
  const auto* const around = node_.kernel.find(group_around(group));
  if (around != nullptr && !node_.kernel.effective(*around, "cpuset.cpus").contains_all(cpus)) {
    return false;
  }
  const AgentState& state = in_turn_ == nullptr ? model_ : in_turn_->state();
  const auto seen = containers_in(node_.kernel, state);
  return std::none_of(seen.begin(), seen.end(), [&](const Seen& one) {
    const bool is_in_the_way = one.id != id && one.has_processes && one.cpus.intersects(cpus);
    return is_in_the_way && !one.is_nested && !has_room(one.group, exclusive_in(state) | cpus);
  });
}

/// Checks that a container that has its exclusive CPUs, and keeps them, never gets other CPUs.
void Runner::check_moved(const Operation& operation) {
  if (operation.file != "cpuset.cpus" || outcome_.failure || !model_node_) return;
  const bool has_all_cpus = offline_.empty() && node_.online() == model_node_->machine().all_cpus();
  const bool is_planned = std::any_of(pending_.begin(), pending_.end(),
                                      [](const Pending& one) { return one.planned.has_value(); });
  // CPUs that another program took away are returned through the shared pool.
  const bool is_excused = is_planned || is_behind_ || had_fault_ || was_disturbed_;
  if (!has_all_cpus || is_excused || node_.has_failed()) return;
  const AgentState& now = in_turn_ == nullptr ? model_ : in_turn_->state();
  const auto seen = containers_in(node_.kernel, now);
  const auto found = std::find_if(seen.begin(), seen.end(), [&](const Seen& one) {
    return one.group == operation.group && !one.is_nested && one.has_processes;
  });
  if (found == seen.end() || in_transit_.contains(found->id)) return;
  const CpuSet* const before = model_.node.cpu.assignments.find(found->id);
  const CpuSet* const after = owners_.find(found->id);
  const bool is_same = before != nullptr && after != nullptr && *before == *after;
  const auto had = began_.find(found->group);
  const bool has_had = is_same && had != began_.end() && had->second == *before;
  // A sandbox that runs several containers gets the CPUs of all of them.
  const bool is_sandbox = without_groups(found->id.pod) != nullptr;
  const bool has_kept =
      has_had && (is_sandbox ? found->cpus.contains_all(*before) : found->cpus == *before);
  if (has_had && !has_kept && !node_.is_narrowed(found->group)) {
    return break_promise("moved", fmt::format("{} has {}, and got {}", found->group,
                                              before->to_string(), found->cpus.to_string()));
  }
}

/// Checks after a reconciliation without a fault that each container has its CPUs, unless another
/// agent keeps its group narrower or something that Pinfold cannot change is in the way.
void Runner::check_independent() {
  const bool has_all_cpus = offline_.empty() && node_.online() == model_node_->machine().all_cpus();
  if (outcome_.failure || had_fault_ || !has_all_cpus || has_strays_) return;
  const CpuSet pool = agent::shared_pool(*model_node_, model_.node);
  for (const Seen& one : containers_in(node_.kernel, model_)) {
    const ActivePod* const pod = model_.node.find(one.id.pod);
    const Container* const spec = pod == nullptr ? nullptr : pod->spec.find(one.id.name);
    const bool is_ours = spec != nullptr && spec->kind != ContainerKind::kInit &&
                         !model_.removed.contains(one.id) && one.has_processes && !one.is_nested;
    if (!is_ours || node_.is_narrowed(one.group)) continue;
    if (runtime_.unconfirmed().contains(one.group) || waiting_.contains(one.group)) continue;
    if (without_groups(one.id.pod) != nullptr) continue;  // see check_told()
    const CpuSet* const own = model_.node.cpu.assignments.find(one.id);
    const CpuSet& wanted = own == nullptr ? pool : *own;
    if (wanted.empty() || one.cpus == wanted) continue;
    if (!can_be_free(one.id, one.group, wanted)) continue;
    return break_promise("independent",
                         fmt::format("{} has {} after a reconciliation, expected {}", one.group,
                                     one.cpus.to_string(), wanted.to_string()));
  }
}

/// Checks that a group has one owner, however its path was spelled when it was adopted.
void Runner::check_owners() {
  if (outcome_.failure) return;
  std::map<std::string, ContainerId> owners;
  for (const auto& entry : model_.adopted) {
    const std::string group = group_of_directory(node_.kernel, entry.value);
    const auto [owner, is_new] = owners.try_emplace(group, entry.id());
    // In a runtime class without container groups, all containers of a pod have the sandbox's
    // group.
    const Runtime::Pod* const shares = without_groups(entry.pod);
    const bool is_sandbox = shares != nullptr && owner->second.pod == entry.pod &&
                            group == Runtime::group_of_sandbox(*shares);
    if (is_new || is_sandbox) continue;
    return break_promise(
        "owner", fmt::format("'{}' is adopted for {}/{} and {}/{}", group, owner->second.pod,
                             owner->second.name, entry.pod, entry.name));
  }
}

}  // namespace pinfold::world
