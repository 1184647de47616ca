#include "reconfigure/reconfigure_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <vector>

#include "node/status_picture.hpp"
#include "pinfold/picture/render_node.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

using agent::Reconfiguration;

std::string cpus_text(const std::optional<CpuSet>& cpus) {
  return cpus ? cpus->to_string() : "shared";
}

/// Returns the NUMA nodes of the blocks: "0-1"; "any" without blocks.
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
  const auto& containers = planned.plan.containers;
  const auto count = [&](Change change) {
    return std::count_if(containers.begin(), containers.end(),
                         [=](const PlannedContainer& one) { return one.change == change; });
  };
  const auto against_rules = count(Change::kKeptAgainstRules);
  const auto kept = count(Change::kKept) + against_rules;
  std::string text = fmt::format("{} of {} {}", kept, counted(containers.size(), "container"),
                                 kept == 1 ? "keeps its resources" : "keep their resources");
  if (against_rules > 0) text += fmt::format(", {} of them against the new rules", against_rules);
  if (cost.containers_moved > 0) {
    text +=
        fmt::format("; {} {}, {}", cost.containers_moved,
                    cost.containers_moved == 1 ? "moves" : "move", counted(cost.cpus_moved, "CPU"));
    if (cost.bytes_moved > 0) text += " and " + human_bytes(cost.bytes_moved) + " of memory";
  }
  if (cost.pods_evicted > 0) {
    text += fmt::format("; {} no longer {}", counted(cost.pods_evicted, "pod"),
                        cost.pods_evicted == 1 ? "fits" : "fit");
  }
  if (planned.is_undo) return text + "\n";
  return text + (planned.plan.optimal ? "; no plan costs less\n"
                                      : "; the search ended early, so a cheaper plan may exist\n");
}

std::string why_text(const PlannedContainer& container) {
  if (!container.rejection) return container.why;
  return container.why + ": " + container.rejection->message;
}

std::string container_rows(const Reconfiguration& planned) {
  const Style style = terminal_style();
  using Align = TextTable::Align;
  TextTable table({{"POD", Align::kLeft, true},
                   {"CONTAINER"},
                   {"CHANGE"},
                   {"CPUS", Align::kLeft, true},
                   {"MEMS"},
                   {"WHY", Align::kLeft, true}});
  for (const PlannedContainer& container : planned.plan.containers) {
    if (container.change == Change::kKept) continue;
    const bool goes = container.change == Change::kEvicted;
    const auto after = [&](std::string text) { return goes ? "none" : std::move(text); };
    table.add_painted(
        {escaped(pod_name(planned, container.id.pod)), escaped(container.id.name),
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

/// Returns "2 CPUs, 64Mi".
std::string amount_text(const PlannedContainer& container) {
  std::string text;
  if (container.cpus_moved > 0) text = counted(container.cpus_moved, "CPU");
  if (container.bytes_moved > 0) {
    text += (text.empty() ? "" : ", ") + human_bytes(container.bytes_moved);
  }
  return text;
}

/// Formats the writes to the cpusets of containers that change, and how much of them moves.
std::string step_rows(const Reconfiguration& planned) {
  using Align = TextTable::Align;
  TextTable table({{"CONTAINER", Align::kLeft, true}, {"MOVES"}, {"STEPS", Align::kLeft, true}});
  for (const PlannedContainer& container : planned.plan.containers) {
    const auto steps = steps_of(planned, container.id);
    if (container.change == Change::kKept || steps.empty()) continue;
    table.add({pod_name(planned, container.id.pod) + "/" + container.id.name,
               amount_text(container), fmt::format("{}", fmt::join(steps, ", then "))});
  }
  return table.empty() ? "" : "\n" + table.render(terminal_style());
}

/// Returns one line if a starting kubelet would reject pods because of their requests; else "".
std::string short_text(const Reconfiguration& planned) {
  const auto& pods = planned.plan.short_of_requests;
  if (pods.empty()) return "";
  std::string name = pod_name(planned, pods.front().pod);
  if (pods.size() > 1) name += " and " + counted(pods.size() - 1, "other pod");
  return fmt::format(
      "the pods request more than is allocatable: a kubelet that starts would reject {}: {}\n",
      escaped(name), escaped(pods.front().why.message));
}

std::string time_text(std::chrono::nanoseconds duration) {
  return fmt::format("{:.1f} ms", std::chrono::duration<double, std::milli>(duration).count());
}

/// Returns the owners of CPUs on this node. `cpus_of`: a container's CPUs there.
Overlay overlay_of(const Node& node, const Reconfiguration& planned,
                   std::optional<CpuSet> PlannedContainer::*cpus_of) {
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
    const std::optional<CpuSet>& cpus = container.*cpus_of;
    if (!cpus || cpus->empty()) continue;
    exclusive |= *cpus;
    overlay.entries.push_back({name, CpuUse::kExclusive,
                               pod_name(planned, container.id.pod) + "/" + container.id.name,
                               *cpus});
  }
  const CpuSet& reserved = node.cpu().reserved();
  if (!reserved.empty()) overlay.entries.push_back({"R", CpuUse::kReserved, "reserved", reserved});
  const CpuSet rest = node.machine().all_cpus() - exclusive - reserved;
  if (!rest.empty()) overlay.entries.push_back({".", CpuUse::kShared, "shared pool", rest});
  moving &= node.machine().all_cpus();
  if (!moving.empty()) overlay.marks.push_back({"*", "changes owner", moving, false});
  return overlay;
}

}  // namespace

std::string describe(const Reconfiguration& planned) {
  std::string text;
  for (const std::string& line : planned.differences) text += "  " + escaped(line) + "\n";
  if (text.empty() && !planned.room) text = "  the node is the same\n";
  std::string rest = "\n" + summary(planned) + short_text(planned);
  for (const ContainerId& id : planned.parked) {
    rest += fmt::format("{}/{} runs on shared CPUs for a moment, while its CPUs are swapped\n",
                        escaped(pod_name(planned, id.pod)), escaped(id.name));
  }
  const Style style = terminal_style();
  return wrapped_lines(text, style) + container_rows(planned) + step_rows(planned) +
         wrapped_lines(rest, style);
}

std::string describe_measured(const verbs::Reconfigured& done) {
  std::string text;
  for (const agent::MeasuredContainer& container : done.change.measured) {
    std::vector<std::string> parts;
    if (container.parked) {
      parts.push_back(time_text(*container.parked) + " on shared CPUs");
    }
    if (container.moving_pages) {
      parts.push_back(fmt::format("{} until its NUMA nodes had changed, {} of memory moved",
                                  time_text(*container.moving_pages),
                                  human_bytes(container.bytes_moved)));
    }
    text += fmt::format("{}/{}: {}\n", escaped(pod_name(done.planned, container.id.pod)),
                        escaped(container.id.name), fmt::join(parts, "; "));
  }
  return wrapped_lines(text, terminal_style());
}

std::vector<SvgPanel> panels_of(const Node& from, const Node& to, const Reconfiguration& planned) {
  const auto picture_of = [&](const Node& node, std::optional<CpuSet> PlannedContainer::*cpus_of) {
    Picture picture;
    picture.style = terminal_style();
    picture.overlay = overlay_of(node, planned, cpus_of);
    return picture;
  };
  std::vector<std::string> notes;
  for (const PlannedContainer& container : planned.plan.containers) {
    if (container.change == Change::kKept) continue;
    const bool goes = container.change == Change::kEvicted;
    notes.push_back(fmt::format(
        "{}/{}, {}: CPUs {}; memory of NUMA nodes {}. {}", pod_name(planned, container.id.pod),
        container.id.name, to_string(container.change),
        becomes(cpus_text(container.cpus_before), goes ? "none" : cpus_text(container.cpus_after)),
        becomes(nodes_text(container.memory_before),
                goes ? "none" : nodes_text(container.memory_after)),
        why_text(container)));
  }
  std::string last = summary(planned);
  last.pop_back();  // the newline
  notes.push_back(std::move(last));
  return {{"before", from.machine(), picture_of(from, &PlannedContainer::cpus_before),
           planned.differences},
          {"after", to.machine(), picture_of(to, &PlannedContainer::cpus_after), std::move(notes)}};
}

std::string pictures(const std::vector<SvgPanel>& panels) {
  std::string text;
  for (const SvgPanel& panel : panels) {
    text += (text.empty() ? "" : "\n") + panel.caption + "\n" +
            render_node(panel.machine, panel.picture);
  }
  return text;
}

}  // namespace pinfold::tools
