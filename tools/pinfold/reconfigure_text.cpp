#include "reconfigure_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "pinfold/text/message.hpp"
#include "text.hpp"
#include "topology_picture.hpp"

namespace pinfold::tools {
namespace {

using agent::NodeAgent;
using agent::Reconfiguration;
using nlohmann::json;

/// "default/db"; the UID of a held pod.
std::string pod_name(const NodeAgent& agent, const PodUid& uid) {
  const ActivePod* const pod = agent.state().node.find(uid);
  if (pod == nullptr) return uid.value;
  return pod->spec.namespace_name + "/" + pod->spec.name;
}

std::string cpus_text(const std::optional<CpuSet>& cpus) {
  return cpus ? cpus->to_string() : "shared";
}

/// The NUMA nodes of the blocks: "0-1"; "any" without blocks.
std::string nodes_text(const std::vector<MemoryBlock>& blocks) {
  CpuSet nodes;
  for (const MemoryBlock& block : blocks) {
    for (const std::int32_t id : block.numa_affinity) nodes.insert(CpuId{id});
  }
  return blocks.empty() ? "any" : nodes.to_string();
}

std::string becomes(const std::string& before, const std::string& after) {
  return before == after ? before : before + " -> " + after;
}

Paint paint_of(Change change) {
  switch (change) {
    case Change::kEvicted:
      return Paint::kRed;
    case Change::kKept:
      return Paint::kPlain;
    default:
      return Paint::kYellow;
  }
}

std::string summary(const Reconfiguration& planned) {
  const PlanCost& cost = planned.plan.cost;
  std::string text = fmt::format(
      "{} of {} keep what they have",
      std::count_if(
          planned.plan.containers.begin(), planned.plan.containers.end(),
          [](const PlannedContainer& container) { return container.change == Change::kKept; }),
      counted(planned.plan.containers.size(), "container"));
  if (cost.containers_moved > 0) {
    text += fmt::format("; {} move, {}", cost.containers_moved, counted(cost.cpus_moved, "CPU"));
    if (cost.bytes_moved > 0) text += " and " + human_bytes(cost.bytes_moved) + " of memory";
  }
  if (cost.pods_evicted > 0) {
    text += fmt::format("; {} cannot stay", counted(cost.pods_evicted, "pod"));
  }
  if (planned.is_undo) return text + "\n";
  return text + (planned.plan.optimal ? "; no plan costs less\n"
                                      : "; the search ended early, so a cheaper plan may exist\n");
}

std::string why_text(const PlannedContainer& container) {
  if (!container.rejection) return container.why;
  return container.why + ": " + container.rejection->message;
}

std::string container_rows(const NodeAgent& agent, const Reconfiguration& planned) {
  const Style style = terminal_style();
  TextTable table({{"POD"}, {"CONTAINER"}, {"CHANGE"}, {"CPUS"}, {"MEMS"}, {"WHY"}});
  for (const PlannedContainer& container : planned.plan.containers) {
    if (container.change == Change::kKept) continue;
    const bool goes = container.change == Change::kEvicted;
    const auto after = [&](std::string text) { return goes ? "none" : std::move(text); };
    table.add_painted(
        {escaped(pod_name(agent, container.id.pod)), escaped(container.id.name),
         paint(style, paint_of(container.change), to_string(container.change)),
         becomes(cpus_text(container.cpus_before), after(cpus_text(container.cpus_after))),
         becomes(nodes_text(container.memory_before), after(nodes_text(container.memory_after))),
         escaped(why_text(container))});
  }
  return table.empty() ? "" : "\n" + table.render(style);
}

std::vector<std::string> steps_of(const Reconfiguration& planned, const ContainerId& id) {
  const auto* const steps = planned.steps.find(id);
  return steps == nullptr ? std::vector<std::string>() : *steps;
}

/// "2 CPUs, 64 MiB".
std::string amount_text(const PlannedContainer& container) {
  std::string text;
  if (container.cpus_moved > 0) text = counted(container.cpus_moved, "CPU");
  if (container.bytes_moved > 0) {
    text += (text.empty() ? "" : ", ") + human_bytes(container.bytes_moved);
  }
  return text;
}

/// What is written to the cpusets of containers that change, and how much of them moves.
std::string step_rows(const NodeAgent& agent, const Reconfiguration& planned) {
  TextTable table({{"CONTAINER"}, {"MOVES"}, {"STEPS"}});
  for (const PlannedContainer& container : planned.plan.containers) {
    const auto steps = steps_of(planned, container.id);
    if (container.change == Change::kKept || steps.empty()) continue;
    table.add({pod_name(agent, container.id.pod) + "/" + container.id.name, amount_text(container),
               fmt::format("{}", fmt::join(steps, ", then "))});
  }
  return table.empty() ? "" : "\n" + table.render(terminal_style());
}

/// One line, if a kubelet that starts would reject pods because of their requests.
std::string short_text(const NodeAgent& agent, const Reconfiguration& planned) {
  const auto& pods = planned.plan.short_of_requests;
  if (pods.empty()) return "";
  std::string name = pod_name(agent, pods.front().pod);
  if (pods.size() > 1) name += " and " + counted(pods.size() - 1, "other pod");
  return fmt::format(
      "the pods request more than is allocatable: a kubelet that starts would reject {}: {}\n",
      escaped(name), escaped(pods.front().why.message));
}

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string time_text(std::chrono::nanoseconds duration) {
  return fmt::format("{:.1f} ms", 1000 * seconds(duration));
}

Overlay overlay_of(const NodeAgent& agent, const Node& node, const NodeState& state,
                   const Reconfiguration& planned) {
  Overlay overlay;
  std::size_t label = 0;
  CpuSet exclusive;
  for (const PlannedContainer& container : planned.plan.containers) {
    if (!container.cpus_before && !container.cpus_after) continue;
    const std::string name = overlay_label(label++);  // the same before and after
    const CpuSet* const cpus = state.cpu.assignments.find(container.id);
    if (cpus == nullptr || cpus->empty()) continue;
    exclusive |= *cpus;
    overlay.entries.push_back({name, CpuUse::kExclusive,
                               pod_name(agent, container.id.pod) + "/" + container.id.name, *cpus});
  }
  const CpuSet& reserved = node.cpu().reserved();
  if (!reserved.empty()) overlay.entries.push_back({"R", CpuUse::kReserved, "reserved", reserved});
  const CpuSet rest = node.machine().all_cpus() - exclusive - reserved;
  if (!rest.empty()) overlay.entries.push_back({".", CpuUse::kShared, "shared pool", rest});
  return overlay;
}

json blocks_json(const std::vector<MemoryBlock>& blocks) {
  json out = json::array();
  for (const MemoryBlock& block : blocks) {
    out.push_back(
        {{"type", block.type}, {"numaNodes", block.numa_affinity}, {"bytes", block.size}});
  }
  return out;
}

json container_json(const NodeAgent& agent, const Reconfiguration& planned,
                    const PlannedContainer& container) {
  const auto cpus_json = [](const std::optional<CpuSet>& cpus) {
    return cpus ? json(cpus->to_string()) : json();
  };
  json out = {{"uid", container.id.pod.value},
              {"pod", pod_name(agent, container.id.pod)},
              {"container", container.id.name},
              {"change", to_string(container.change)},
              {"cpusBefore", cpus_json(container.cpus_before)},
              {"cpusAfter", cpus_json(container.cpus_after)},
              {"memoryBefore", blocks_json(container.memory_before)},
              {"memoryAfter", blocks_json(container.memory_after)},
              {"cpusMoved", container.cpus_moved},
              {"bytesMoved", container.bytes_moved},
              {"parked", std::find(planned.parked.begin(), planned.parked.end(), container.id) !=
                             planned.parked.end()},
              {"steps", steps_of(planned, container.id)},
              {"why", container.why}};
  if (container.rejection) {
    out["reason"] = container.rejection->reason;
    out["message"] = container.rejection->message;
  }
  return out;
}

}  // namespace

std::string describe(const NodeAgent& agent, const Reconfiguration& planned) {
  std::string text;
  for (const std::string& line : planned.differences) text += "  " + escaped(line) + "\n";
  if (text.empty() && !planned.room) text = "  the node is the same\n";
  text += container_rows(agent, planned) + step_rows(agent, planned) + "\n" + summary(planned) +
          short_text(agent, planned);
  for (const ContainerId& id : planned.parked) {
    text += fmt::format(
        "{}/{} runs on CPUs that are exclusive to no container while its CPUs are "
        "exchanged\n",
        escaped(pod_name(agent, id.pod)), escaped(id.name));
  }
  return text;
}

std::string describe(const NodeAgent& agent,
                     const std::vector<agent::MeasuredContainer>& measured) {
  std::string text;
  for (const agent::MeasuredContainer& container : measured) {
    std::vector<std::string> parts;
    if (container.parked) {
      parts.push_back(time_text(*container.parked) + " on CPUs that are exclusive to no container");
    }
    if (container.moving_pages) {
      parts.push_back(fmt::format("{} until its NUMA nodes had changed, {} of memory moved",
                                  time_text(*container.moving_pages),
                                  human_bytes(container.bytes_moved)));
    }
    text += fmt::format("{}/{}: {}\n", escaped(pod_name(agent, container.id.pod)),
                        escaped(container.id.name), fmt::join(parts, "; "));
  }
  return text;
}

std::string pictures(const NodeAgent& agent, const Node& to, const Reconfiguration& planned) {
  Picture picture;
  picture.style = terminal_style();
  picture.overlay = overlay_of(agent, agent.node(), agent.state().node, planned);
  const std::string before = render_node(agent.node().machine(), picture);
  picture.overlay = overlay_of(agent, to, planned.plan.next, planned);
  return "before\n" + before + "\nafter\n" + render_node(to.machine(), picture);
}

json to_json(const NodeAgent& agent, const Reconfiguration& planned) {
  const PlanCost& cost = planned.plan.cost;
  json containers = json::array();
  for (const PlannedContainer& container : planned.plan.containers) {
    containers.push_back(container_json(agent, planned, container));
  }
  json evicted = json::array();
  for (const PodUid& uid : planned.plan.evicted) evicted.push_back(uid.value);
  json short_of_requests = json::array();
  for (const ShortOfRequests& pod : planned.plan.short_of_requests) {
    short_of_requests.push_back({{"uid", pod.pod.value},
                                 {"pod", pod_name(agent, pod.pod)},
                                 {"reason", pod.why.reason},
                                 {"message", pod.why.message}});
  }
  return {{"differences", planned.differences},
          {"containers", std::move(containers)},
          {"evicted", std::move(evicted)},
          {"shortOfRequests", std::move(short_of_requests)},
          {"cost",
           {{"podsEvicted", cost.pods_evicted},
            {"podsAgainstRules", cost.pods_against_rules},
            {"containersMoved", cost.containers_moved},
            {"cpusMoved", cost.cpus_moved},
            {"bytesMoved", cost.bytes_moved}}},
          {"optimal", planned.plan.optimal}};
}

json to_json(const NodeAgent& agent, const std::vector<agent::MeasuredContainer>& measured) {
  const auto time_json = [](const std::optional<std::chrono::nanoseconds>& duration) {
    return duration ? json(seconds(*duration)) : json();
  };
  json out = json::array();
  for (const agent::MeasuredContainer& container : measured) {
    out.push_back({{"uid", container.id.pod.value},
                   {"pod", pod_name(agent, container.id.pod)},
                   {"container", container.id.name},
                   {"parkedSeconds", time_json(container.parked)},
                   {"movingPagesSeconds", time_json(container.moving_pages)},
                   {"bytesMoved", container.bytes_moved}});
  }
  return out;
}

}  // namespace pinfold::tools
