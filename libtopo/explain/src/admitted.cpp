#include "admitted.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cpu_choice.hpp"
#include "exclusive.hpp"
#include "outcome.hpp"
#include "pinfold/decide/resize.hpp"
#include "pinfold/types/named.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

std::string quota_of(const Node& node, const Container& spec, const ContainerResources& container) {
  const LinuxResources& linux_resources = container.linux_resources;
  if (!linux_resources.cpu_quota) return "no CPU quota: cpuCFSQuota is off";
  if (*linux_resources.cpu_quota < 0) return "no CPU quota: its CPUs are exclusive";
  if (*linux_resources.cpu_quota == 0) return "no CPU quota: it has no CPU limit";
  const auto milli = *linux_resources.cpu_quota * 1000 /
                     static_cast<std::int64_t>(linux_resources.cpu_period.value_or(1));
  std::string text = fmt::format("CPU quota {} of {} microseconds: {} limit is {}",
                                 *linux_resources.cpu_quota, linux_resources.cpu_period.value_or(0),
                                 spec.resources.limits.contains("cpu") ? "its" : "its pod's",
                                 Quantity::milli(milli).to_string());
  if (container.isolation == Isolation::kContainer &&
      !node.gates().disable_cpu_quota_with_exclusive_cpus) {
    text += ", also of exclusive CPUs without DisableCPUQuotaWithExclusiveCPUs";
  }
  return text;
}

std::string in_parentheses(const std::vector<std::string>& parts) {
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

std::string cpus_of(const Node& node, const PodView& pod, const Container& spec,
                    const ContainerResources& container) {
  const std::string cpus = cpus_named(container.cpuset_cpus);
  switch (container.isolation) {
    case Isolation::kContainer:
      return fmt::format("exclusive {}{}", cpus,
                         in_parentheses(core_kinds(node.machine(), container.cpuset_cpus)));
    case Isolation::kPod:
      return fmt::format("pod shared pool, {}: {}", cpus, node.cpu().why_shared(pod, spec));
    case Isolation::kHost:
      break;
  }
  return fmt::format("shared pool, {}: {}", container.cpuset_cpus.empty() ? "any CPU" : cpus,
                     node.cpu().why_shared(pod, spec));
}

std::vector<ContainerExplanation> containers_of(const Node& node, const NodeState& state,
                                                const ActivePod& pod) {
  const PodView view(pod.spec);
  std::vector<ContainerExplanation> all;
  for (ContainerResources& resources : all_container_resources(node, state, pod)) {
    const Container& spec = *pod.spec.find(resources.name);
    ContainerExplanation& container = all.emplace_back();
    container.cpus = cpus_of(node, view, spec, resources);
    container.quota = quota_of(node, spec, resources);
    container.resources = std::move(resources);
  }
  return all;
}

std::string summary_of(const PodSpec& pod, std::string_view verb,
                       const std::vector<ContainerExplanation>& containers) {
  std::vector<std::string> parts;
  std::vector<std::string> shared;
  for (const ContainerExplanation& container : containers) {
    const ContainerResources& has = container.resources;
    std::string what;
    if (has.isolation == Isolation::kContainer) {
      what = "exclusive " + cpus_named(has.cpuset_cpus);
    } else if (has.isolation == Isolation::kPod) {
      what = cpus_named(has.cpuset_cpus) + ", shared within the pod";
    } else if (has.cpuset_mems.empty() && has.devices.empty()) {
      shared.push_back(has.name);
      continue;
    } else {
      what = "the shared pool";
    }
    if (!has.cpuset_mems.empty()) what += " and memory of NUMA " + has.cpuset_mems;
    for (const auto& [resource, ids] : has.devices) {
      what += fmt::format(" and {} {}", resource, fmt::join(ids, ","));
    }
    parts.push_back(fmt::format("container {} has {}", has.name, what));
  }
  if (!shared.empty()) {
    parts.push_back(fmt::format("{} {} in the shared pool", listed(shared),
                                shared.size() == 1 ? "runs" : "run"));
  }
  return fmt::format("{} {}: {}", name_of(pod), verb, fmt::join(parts, "; "));
}

/// Returns the rule by which NUMA nodes won against others that suit every resource as well.
const char* decided_by(const TopologyManager& manager, NumaMask winner, NumaMask other) {
  if (winner.count() != other.count()) return "the fewest NUMA nodes win";
  return manager.are_equally_good(winner, other) ? "on a tie the lower number wins"
                                                 : "the closest NUMA nodes win";
}

/// Returns which NUMA nodes come next after those that a merge chose, or what each would have
/// needed; "" if the merge had no choice to make.
std::string runner_up(const Node& node, const TopologyHint& winner, const ResourceHints& hints,
                      const std::vector<Amounts>& amounts) {
  const TopologyManager& manager = node.topology();
  if (!winner.numa || amounts.empty()) return "";
  if (manager.needs_usage()) return "";  // which is next depends on scores, and those are named
  ResourceHints others = hints;
  for (auto& [resource, list] : others) {
    if (!list) continue;
    std::erase_if(*list, [&](const TopologyHint& hint) { return hint.numa == winner.numa; });
  }
  const MergedHint next = manager.merge(std::vector<ResourceHints>{others}, {});
  const bool is_other = next.best.numa && *next.best.numa != *winner.numa;
  if (is_other && next.best.preferred) {
    return fmt::format("runner-up: {}, {} enough of everything; {}",
                       numa_nodes(node.machine().numa_ids(*next.best.numa)),
                       next.best.numa->is_single() ? "which also has" : "which also have",
                       decided_by(manager, *winner.numa, *next.best.numa));
  }
  std::vector<std::string> parts;
  for (const std::int32_t id : numa_ids(amounts)) {
    const auto position = node.machine().numa_position(NumaId{id});
    if (!position || winner.numa->contains(*position)) continue;
    std::vector<std::string> lacks;
    for (const Amounts& resource : amounts) {
      const Quantity free = free_at(resource, id);
      if (free >= resource.needed) continue;
      lacks.push_back(of_resource(resource.needed - free, resource.resource, AmountRounding::kUp) +
                      " more");
    }
    if (!lacks.empty()) {
      parts.push_back(fmt::format("{} would have needed {}", numa_nodes({id}), listed(lacks)));
    }
  }
  constexpr std::size_t kMost = 3;
  parts.resize(std::min(parts.size(), kMost));
  return parts.empty() ? "" : "runner-up: none; " + fmt::format("{}", fmt::join(parts, ", "));
}

/// Adds the runner-up of each merge after the sentences about it.
void add_runners_up(const Node& node, const PodSpec& pod, const Admitted& admitted, Trace& trace) {
  if (node.topology().policy() == TopologyPolicy::kNone) return;
  for (const auto& merge : admitted.hints) {
    const std::string& object = merge.first;
    const auto amounts = admitted.amounts.find(object);
    if (amounts == admitted.amounts.end()) continue;
    const std::string& container = object == kWholePod ? pod.containers.front().name : object;
    const TopologyHint* const winner = admitted.next.affinity.find({pod.uid, container});
    if (winner == nullptr) continue;
    std::string text = runner_up(node, *winner, merge.second, amounts->second);
    if (text.empty()) continue;
    const auto last =
        std::find_if(trace.facts.rbegin(), trace.facts.rend(), [&object](const TraceFact& fact) {
          return fact.source == kTopology && fact.object == object;
        });
    trace.facts.insert(last.base(), TraceFact{kTopology, object, std::move(text)});
  }
}

/// Admits the pod and records the reasons.
Admitted admit(const Node& node, const NodeState& state, const PodSpec& pod, Trace& trace) {
  Decision decision =
      decide(node, state, pod, &trace, nullptr, AdmissionChecks::kManagersAndRequests);
  auto admitted = std::get<Admitted>(std::move(decision));
  add_runners_up(node, pod, admitted, trace);
  add_cpu_choices(node, state, pod, admitted, trace);
  return admitted;
}

/// Returns "2-4,6". Domain: ascending.
std::string runs_of(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
    while (end < numbers.size() && numbers[end] - numbers[begin] == static_cast<int>(end - begin)) {
      ++end;
    }
    const bool is_one = end - begin == 1;
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", numbers[begin],
                        is_one ? "" : fmt::format("-{}", numbers[end - 1]));
  }
  return text;
}

/// Returns which numbers of CPUs a resize could give a container now, and why not more. Cost: one
/// decision per number.
std::string resize_note(const Node& node, const NodeState& state, const ContainerId& container) {
  constexpr int kMostThreads = 8;  // of a core: full-pcpus-only leaves as many numbers out
  const auto has = static_cast<int>(state.cpu.assignments.find(container)->size());
  const auto least = static_cast<int>(baseline_of(state.cpu, container)->size());
  std::vector<int> possible;
  std::string why;  // of the first number that is too many
  int too_many = 0;
  for (int count = least; too_many < kMostThreads; ++count) {
    const Quantity cpu = Quantity::of(count, Quantity::Format::kDecimalSi);
    const auto decision =
        resize(node, state, {container, cpu}, nullptr, AdmissionChecks::kManagersAndRequests);
    const auto* const refused = decision ? std::get_if<NotResized>(&*decision) : nullptr;
    if (decision && refused == nullptr) {
      possible.push_back(count);
      too_many = 0;
    } else if (count > has && ++too_many == 1) {
      why = decision ? fmt::format("{} would be {}", count, describe(*refused))
                     : fmt::format("{}: {}", count, decision.error().message);
    }
  }
  std::string text = fmt::format("Container {} can be resized to {} CPUs now; ", container.name,
                                 runs_of(possible));
  if (least < has) {
    text += fmt::format("it keeps {} of its admission; ",
                        cpus_named(*baseline_of(state.cpu, container)));
  }
  return text + why;
}

/// Returns what resizes of a pod's containers could do.
std::vector<std::string> resize_notes(const Node& node, const NodeState& state,
                                      const std::vector<ContainerExplanation>& containers,
                                      const PodSpec& pod) {
  std::vector<std::string> notes;
  if (!resizes_exclusive_cpus(node.config()) || pod.has_pod_level_resources()) return notes;
  for (const ContainerExplanation& container : containers) {
    const std::string& name = container.resources.name;
    const bool is_exclusive = container.resources.isolation == Isolation::kContainer;
    if (!is_exclusive || pod.find(name)->kind == ContainerKind::kInit) continue;
    notes.push_back(resize_note(node, state, {pod.uid, name}));
  }
  return notes;
}

bool have_same_resources(const std::vector<ContainerExplanation>& a,
                         const std::vector<ContainerExplanation>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ContainerExplanation& one, const ContainerExplanation& other) {
                      return one.resources.cpus == other.resources.cpus &&
                             one.resources.memory == other.resources.memory &&
                             one.resources.devices == other.resources.devices;
                    });
}

void add_advice(ExclusiveAdvice advice, Explanation& out) {
  out.remedies = std::move(advice.remedies);
  for (std::string& note : advice.notes) out.notes.push_back(std::move(note));
}

}  // namespace

Explanation of_admission(const Node& node, const NodeState& state, const PodSpec& pod) {
  Explanation out;
  out.pod = pod;
  const Admitted admitted = admit(node, state, pod, out.trace);
  out.containers = containers_of(node, admitted.next, *admitted.next.find(pod.uid));
  out.summary = summary_of(pod, "is admitted", out.containers);
  add_advice(ways_to_exclusive_cpus(node, state, pod), out);
  return out;
}

Explanation of_active_pod(const Node& node, const NodeState& state, const ActivePod& pod) {
  Explanation out;
  out.pod = pod.spec;
  out.containers = containers_of(node, state, pod);
  out.summary = summary_of(pod.spec, "is active", out.containers);
  out.notes = resize_notes(node, state, out.containers, pod.spec);
  const NodeState without = release_stale(node, remove_pod(node, state, pod.spec.uid));
  add_advice(ways_to_exclusive_cpus(node, without, pod.spec), out);
  Trace trace;
  if (const auto failure = find_failure(node, without, pod.spec, &trace)) {
    out.trace.add("state", kWholePod,
                  "it was admitted when other pods ran; now it would be rejected, " +
                      failure->why.reason + ", and keeps its resources");
    out.trace.facts.insert(out.trace.facts.end(), trace.facts.begin(), trace.facts.end());
    return out;
  }
  trace = {};
  const Admitted again = admit(node, without, pod.spec, trace);
  const auto now = containers_of(node, again.next, *again.next.find(pod.spec.uid));
  if (!have_same_resources(out.containers, now)) {
    out.trace.add("state", kWholePod,
                  "it was admitted when other pods ran, and keeps its resources; if admitted "
                  "now, it would get the following");
  }
  out.trace.facts.insert(out.trace.facts.end(), trace.facts.begin(), trace.facts.end());
  return out;
}

}  // namespace pinfold::explain_detail
