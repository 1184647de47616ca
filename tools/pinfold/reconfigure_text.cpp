#include "reconfigure_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "pinfold/text/message.hpp"
#include "status_picture.hpp"
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

Overlay overlay_of(const NodeAgent& agent, const Node& node, const NodeState& state,
                   const Reconfiguration& planned) {
  Overlay overlay;
  std::size_t label = 0;
  CpuSet exclusive;
  CpuSet moving;
  for (const PlannedContainer& container : planned.plan.containers) {
    if (!container.cpus_before && !container.cpus_after) continue;
    const CpuSet before = container.cpus_before.value_or(CpuSet());
    const CpuSet after = container.cpus_after.value_or(CpuSet());
    moving |= (before - after) | (after - before);
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
  moving &= node.machine().all_cpus();
  if (!moving.empty()) overlay.marks.push_back({"*", "changes owner", moving});
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
  if (text.empty()) text = "  the node is the same\n";
  text += container_rows(agent, planned) + "\n" + summary(planned);
  for (const ContainerId& id : planned.parked) {
    text += fmt::format(
        "{}/{} runs on CPUs that are exclusive to no container while its CPUs are "
        "exchanged\n",
        escaped(pod_name(agent, id.pod)), escaped(id.name));
  }
  return text;
}

std::vector<SvgPanel> panels_of(const NodeAgent& agent, const Node& to,
                                const Reconfiguration& planned) {
  const auto draw = [&](const Node& node, const NodeState& state) {
    Picture picture;
    picture.style = terminal_style();
    picture.overlay = overlay_of(agent, node, state, planned);
    picture.numa = numa_use(node, state, "");
    return picture;
  };
  std::vector<std::string> notes;
  for (const PlannedContainer& container : planned.plan.containers) {
    if (container.change == Change::kKept) continue;
    const bool goes = container.change == Change::kEvicted;
    notes.push_back(fmt::format(
        "{}/{}, {}: CPUs {}. {}", pod_name(agent, container.id.pod), container.id.name,
        to_string(container.change),
        becomes(cpus_text(container.cpus_before), goes ? "none" : cpus_text(container.cpus_after)),
        why_text(container)));
  }
  std::string last = summary(planned);
  last.pop_back();  // the end of the line
  notes.push_back(std::move(last));
  const Node& from = agent.node();
  return {{"before", from.machine(), draw(from, agent.state().node), planned.differences},
          {"after", to.machine(), draw(to, planned.plan.next), std::move(notes)}};
}

std::string pictures(const NodeAgent& agent, const Node& to, const Reconfiguration& planned) {
  std::string text;
  for (const SvgPanel& panel : panels_of(agent, to, planned)) {
    text += (text.empty() ? "" : "\n") + panel.caption + "\n" +
            render_node(panel.machine, panel.picture);
  }
  return text;
}

json to_json(const NodeAgent& agent, const Reconfiguration& planned) {
  const PlanCost& cost = planned.plan.cost;
  json containers = json::array();
  for (const PlannedContainer& container : planned.plan.containers) {
    containers.push_back(container_json(agent, planned, container));
  }
  json evicted = json::array();
  for (const PodUid& uid : planned.plan.evicted) evicted.push_back(uid.value);
  return {{"differences", planned.differences},
          {"containers", std::move(containers)},
          {"evicted", std::move(evicted)},
          {"cost",
           {{"podsEvicted", cost.pods_evicted},
            {"podsAgainstRules", cost.pods_against_rules},
            {"containersMoved", cost.containers_moved},
            {"cpusMoved", cost.cpus_moved},
            {"bytesMoved", cost.bytes_moved}}},
          {"optimal", planned.plan.optimal}};
}

}  // namespace pinfold::tools
