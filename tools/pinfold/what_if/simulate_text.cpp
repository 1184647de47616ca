#include "what_if/simulate_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "node/status_picture.hpp"
#include "pinfold/agent/desired.hpp"
#include "pinfold/picture/numa_use.hpp"
#include "pinfold/picture/render_node.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

using simulate::PlacedContainer;
using simulate::PodChange;
using simulate::PodOutcome;

/// The totals of a simulation.
struct Totals {
  std::size_t admitted = 0;
  std::size_t rejected = 0;
  std::size_t removed = 0;
  std::map<std::string, std::size_t> by_reason;
  std::size_t exclusive = 0;
  double exclusive_mean = 0;
  std::size_t allocatable = 0;
  FreeCpus free;
  std::vector<std::size_t> free_of_numa;  ///< by position of the NUMA node
};

Totals totals_of(const SimulatedNode& simulated) {
  Totals totals;
  const auto& [label, node, result] = simulated;
  for (const PodOutcome& pod : result.pods) {
    totals.rejected += pod.rejection ? 1 : 0;
    totals.removed += pod.removed ? 1 : 0;
    if (pod.rejection) ++totals.by_reason[pod.rejection->reason];
  }
  totals.admitted = result.pods.size() - totals.rejected;
  totals.exclusive = simulate::exclusive_cpus(result.last).size();
  if (result.events > 0) {
    totals.exclusive_mean =
        static_cast<double>(result.exclusive_sum) / static_cast<double>(result.events);
  }
  const Machine& machine = node.machine();
  const Overlay overlay = picture_of(simulated).overlay;
  totals.allocatable = node.cpu().allocatable().size();
  totals.free = free_cpus(machine, overlay, machine.all_cpus());
  for (int numa = 0; numa < machine.numa_count(); ++numa) {
    totals.free_of_numa.push_back(
        free_cpus(machine, overlay, machine.cpus_of_numa(numa)).cpus.size());
  }
  return totals;
}

std::size_t most_on_one(const Totals& totals) {
  const auto& free = totals.free_of_numa;
  return free.empty() ? 0 : *std::max_element(free.begin(), free.end());
}

double percent(double part, std::size_t whole) {
  return whole == 0 ? 0 : part * 100 / static_cast<double>(whole);
}

std::string cpus_of(const PlacedContainer& placement) {
  if (placement.isolation == Isolation::kHost) return "shared";
  const std::string cpus = placement.cpus.to_string();
  return placement.isolation == Isolation::kPod ? cpus + " (pod shared pool)" : cpus;
}

std::string memory_of(const PlacedContainer& placement) {
  std::vector<std::string> parts;
  for (const MemoryBlock& block : placement.memory) {
    if (block.size == 0) continue;
    parts.push_back(fmt::format("{} {} on {}", human_bytes(block.size), block.type,
                                fmt::join(block.numa_affinity, ",")));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Returns a placement as the resources that other documents show.
ContainerResources resources_of(const PlacedContainer& placement) {
  ContainerResources resources;
  resources.name = placement.container;
  resources.isolation = placement.isolation;
  resources.cpuset_cpus = placement.cpus;
  resources.exclusive_cpus = placement.cpus;
  resources.memory = placement.memory;
  resources.devices = placement.devices;
  std::set<std::int32_t> mems;
  for (const MemoryBlock& block : placement.memory) {
    mems.insert(block.numa_affinity.begin(), block.numa_affinity.end());
  }
  resources.cpuset_mems = fmt::format("{}", fmt::join(mems, ","));
  return resources;
}

std::string numa_of(const Machine& machine, const CpuSet& cpus) {
  std::vector<std::int32_t> ids;
  for (int numa = 0; numa < machine.numa_count(); ++numa) {
    if (machine.cpus_of_numa(numa).intersects(cpus)) ids.push_back(machine.numa_id(numa).value);
  }
  return fmt::format("{}", fmt::join(ids, ","));
}

std::string reasons_text(const Totals& totals) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : totals.by_reason) {
    parts.push_back(fmt::format("{} {}", count, escaped(reason)));
  }
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

std::string placement_table(const SimulatedNode& simulated) {
  TextTable table({{"POD"}, {"CONTAINER"}, {"CPUS"}, {"NUMA"}, {"MEMORY"}});
  for (const PodOutcome& pod : simulated.result.pods) {
    if (pod.removed) continue;
    for (const PlacedContainer& placement : pod.placements) {
      table.add({to_string(pod.pod), placement.container, cpus_of(placement),
                 numa_of(simulated.node.machine(), placement.cpus), memory_of(placement)});
    }
  }
  return table.empty() ? "" : table.render(terminal_style()) + "\n";
}

std::string rejection_lines(const std::vector<PodOutcome>& pods) {
  constexpr std::size_t kMost = 20;
  std::string text;
  std::size_t count = 0;
  for (const PodOutcome& pod : pods) {
    if (!pod.rejection || ++count > kMost) continue;
    text += fmt::format("{}: rejected, {}: {}\n", escaped(to_string(pod.pod)),
                        pod.rejection->reason, escaped(pod.rejection->message));
  }
  if (count > kMost) text += fmt::format("... and {} more rejected pods\n", count - kMost);
  return text.empty() ? "" : text + "\n";
}

std::string note_lines(const std::vector<PodOutcome>& pods) {
  constexpr std::size_t kMost = 20;
  std::string text;
  std::size_t count = 0;
  for (const PodOutcome& pod : pods) {
    for (const std::string& note : pod.notes) {
      if (++count > kMost) continue;
      text += fmt::format("{}: {}\n", escaped(to_string(pod.pod)), escaped(note));
    }
  }
  if (count > kMost) text += fmt::format("... and {} more known bugs that apply\n", count - kMost);
  return text.empty() ? "" : text + "\n";
}

/// Formats one container of a pod on one side.
std::string side_text(const PodOutcome& pod, std::size_t container) {
  if (pod.rejection) return "rejected: " + pod.rejection->reason;
  if (container >= pod.placements.size()) return "";
  const PlacedContainer& placement = pod.placements[container];
  const std::string memory = memory_of(placement);
  return cpus_of(placement) + (memory.empty() ? "" : "; " + memory);
}

std::string change_text(PodChange change, const std::string& second) {
  if (change == PodChange::kSame) return "";
  return change == PodChange::kMoves ? "moves" : fmt::format("{} by {}", to_string(change), second);
}

/// Returns the number of pods that both runs reached; a stopped run has fewer.
std::size_t common_pods(const SimulatedNode& a, const SimulatedNode& b) {
  return std::min(a.result.pods.size(), b.result.pods.size());
}

std::map<PodChange, std::size_t> count_changes(const SimulatedNode& a, const SimulatedNode& b) {
  std::map<PodChange, std::size_t> counts;
  for (std::size_t i = 0; i < common_pods(a, b); ++i) {
    ++counts[change_between(a.result.pods[i], b.result.pods[i])];
  }
  return counts;
}

std::string totals_table(const SimulatedNode& a, const SimulatedNode& b) {
  using Align = TextTable::Align;
  const std::array<Totals, 2> totals = {totals_of(a), totals_of(b)};
  TextTable table({{"TOTALS"}, {a.label, Align::kRight}, {b.label, Align::kRight}});
  const auto add = [&](const std::string& name, const auto& value_of) {
    table.add(
        {name, fmt::format("{}", value_of(totals[0])), fmt::format("{}", value_of(totals[1]))});
  };
  add("pods admitted", [](const Totals& all) { return all.admitted; });
  add("pods rejected", [](const Totals& all) { return all.rejected; });
  add("exclusive CPUs", [](const Totals& all) { return all.exclusive; });
  add("exclusive, mean %", [](const Totals& all) {
    return fmt::format("{:.1f}", percent(all.exclusive_mean, all.allocatable));
  });
  add("free CPUs", [](const Totals& all) { return all.free.cpus.size(); });
  add("free whole cores", [](const Totals& all) { return all.free.whole_cores; });
  add("free on one NUMA node", most_on_one);
  return table.render(terminal_style());
}

}  // namespace

Picture picture_of(const SimulatedNode& simulated) {
  const NodeState& state = simulated.result.last;
  agent::NodeStatus status;
  status.shared_pool = agent::shared_pool(simulated.node, state);
  status.reserved = simulated.node.cpu().reserved();
  for (const ActivePod& active : state.pods) {
    agent::PodStatus pod;
    pod.spec = active.spec;
    for (const PlacedContainer& placement :
         simulate::placements_of(simulated.node, state, active)) {
      agent::ContainerStatus container;
      container.resources.name = placement.container;
      container.resources.memory = placement.memory;
      container.desired.isolation = placement.isolation;
      container.desired.cpus = placement.cpus;
      pod.containers.push_back(std::move(container));
    }
    status.pods.push_back(std::move(pod));
  }
  Picture picture;
  picture.style = terminal_style();
  picture.overlay = owners_of(simulated.node.machine(), status);
  picture.numa = numa_use(simulated.node, state, "");
  picture.assigns_memory = simulated.node.memory().is_static();
  return picture;
}

std::string simulation_text(const SimulatedNode& simulated, bool draws) {
  const Totals totals = totals_of(simulated);
  const Picture picture = picture_of(simulated);
  const Machine& machine = simulated.node.machine();
  const auto& pods = simulated.result.pods;
  std::string text = placement_table(simulated) + rejection_lines(pods) + note_lines(pods);
  text += fmt::format("{} admitted, {} rejected{}", counted(totals.admitted, "pod"),
                      totals.rejected, reasons_text(totals));
  if (totals.removed > 0) text += fmt::format(", {} removed again", totals.removed);
  text += fmt::format("\nExclusive: {} of {} ({:.0f} %); mean {:.1f}, at most {}\n",
                      totals.exclusive, counted(totals.allocatable, "allocatable CPU"),
                      percent(static_cast<double>(totals.exclusive), totals.allocatable),
                      totals.exclusive_mean, simulated.result.exclusive_peak);
  // The picture ends with the table of NUMA nodes.
  return text + (draws ? "\n" + render_node(machine, picture) : draw_numa_use(machine, picture));
}

std::string comparison_text(const SimulatedNode& a, const SimulatedNode& b, bool all) {
  TextTable table({{"POD"}, {"CONTAINER"}, {a.label}, {b.label}, {"CHANGE"}});
  for (std::size_t i = 0; i < common_pods(a, b); ++i) {
    const PodOutcome& before = a.result.pods[i];
    const PodOutcome& after = b.result.pods[i];
    const PodChange change = change_between(before, after);
    if (change == PodChange::kSame && !all) continue;
    const auto& placements = before.rejection ? after.placements : before.placements;
    for (std::size_t c = 0; c < std::max<std::size_t>(1, placements.size()); ++c) {
      table.add({to_string(before.pod), c < placements.size() ? placements[c].container : "",
                 side_text(before, c), side_text(after, c), change_text(change, b.label)});
    }
  }
  auto counts = count_changes(a, b);
  std::string text = table.empty() ? "" : table.render(terminal_style()) + "\n";
  text += fmt::format("{} unchanged, {} moved, {} rejected only by {}, {} admitted only by it\n\n",
                      counted(counts[PodChange::kSame], "pod"), counts[PodChange::kMoves],
                      counts[PodChange::kRejected], escaped(b.label), counts[PodChange::kAdmitted]);
  return text + totals_table(a, b);
}

SimulatedRun simulation_document(const SimulatedNode& simulated) {
  const Totals totals = totals_of(simulated);
  const Machine& machine = simulated.node.machine();
  SimulatedRun run{simulated.label,
                   simulated.result.events,
                   totals.removed,
                   totals.by_reason,
                   totals.allocatable,
                   totals.exclusive,
                   totals.exclusive_mean,
                   simulated.result.exclusive_peak,
                   totals.free.cpus.size(),
                   totals.free.whole_cores,
                   totals.free.in_parts,
                   most_on_one(totals),
                   {},
                   {}};
  const CpuSet exclusive = simulate::exclusive_cpus(simulated.result.last);
  for (int numa = 0; numa < machine.numa_count(); ++numa) {
    const CpuSet& cpus = machine.cpus_of_numa(numa);
    run.numa_nodes.push_back({machine.numa_id(numa).value, cpus.size(),
                              cpus.count_common(exclusive),
                              totals.free_of_numa[static_cast<std::size_t>(numa)]});
  }
  for (const PodOutcome& pod : simulated.result.pods) {
    SimulatedPod& shown = run.pods.emplace_back();
    shown.pod = pod.pod;
    shown.rejection = pod.rejection;
    shown.is_removed = pod.removed;
    shown.notes = pod.notes;
    for (const PlacedContainer& placement : pod.placements) {
      shown.containers.push_back(resources_of(placement));
    }
  }
  return run;
}

RunComparison comparison_document(const SimulatedNode& a, const SimulatedNode& b) {
  RunComparison comparison{count_changes(a, b), {}};
  for (std::size_t i = 0; i < common_pods(a, b); ++i) {
    const PodChange change = change_between(a.result.pods[i], b.result.pods[i]);
    if (change != PodChange::kSame) comparison.pods.push_back({a.result.pods[i].pod, change});
  }
  return comparison;
}

}  // namespace pinfold::tools
