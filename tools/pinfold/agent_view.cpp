#include <fmt/format.h>

#include "agent_options.hpp"
#include "topology_picture.hpp"

/// How pods and containers of an agent are shown.
namespace pinfold::tools {

using agent::ContainerView;
using agent::PodView;

std::string container_table(const std::vector<PodView>& pods, bool enforced) {
  const Style style = terminal_style();
  std::vector<TextTable::Column> columns = {{"POD"},       {"CONTAINER"}, {"QOS"},
                                            {"ISOLATION"}, {"CPUS"},      {"MEMS"}};
  if (enforced) {
    columns.insert(columns.end(), {{"RUNS ON"}, {"MEMORY ON"}, {"PROCS"}, {"VERDICT"}});
  }
  TextTable table(std::move(columns));
  const auto or_any = [](const std::string& list) { return list.empty() ? "any" : list; };
  for (const PodView& pod : pods) {
    for (const ContainerView& container : pod.containers) {
      std::vector<std::string> row = {pod.spec.namespace_name + "/" + pod.spec.name,
                                      container.decided.name,
                                      std::string(to_string(pod.qos)),
                                      std::string(to_string(container.wanted.isolation)),
                                      or_any(container.wanted.cpus.to_string()),
                                      or_any(container.decided.cpuset_mems)};
      if (enforced) {
        const auto& seen = container.seen;
        row.push_back(seen ? seen->effective_cpus.to_string() : "-");
        row.push_back(seen ? seen->effective_mems.to_string() : "-");
        row.push_back(seen ? std::to_string(seen->processes) : "-");
        row.push_back(container.problem.empty() ? paint(style, Paint::kGreen, "ok")
                                                : paint(style, Paint::kRed, container.problem));
      }
      table.add(std::move(row));
    }
  }
  return table.render(style);
}

std::string node_picture(const agent::NodeAgent& agent, const std::vector<PodView>& pods) {
  Picture picture;
  picture.style = terminal_style();
  auto& entries = picture.overlay.entries;
  for (const PodView& pod : pods) {
    const std::string name = pod.spec.namespace_name + "/" + pod.spec.name;
    CpuSet within_pod;
    for (const ContainerView& container : pod.containers) {
      if (container.wanted.isolation == Isolation::kPod) within_pod |= container.wanted.cpus;
      if (container.wanted.isolation != Isolation::kContainer) continue;
      entries.push_back({overlay_label(entries.size()), CpuUse::kExclusive,
                         name + "/" + container.decided.name, container.wanted.cpus});
    }
    if (within_pod.empty()) continue;
    entries.push_back(
        {overlay_label(entries.size()), CpuUse::kExclusive, name + ", shared within", within_pod});
  }
  const CpuSet& reserved = agent.node().cpu().reserved();
  const CpuSet pool = agent::shared_pool(agent.node(), agent.state().node);
  if (!reserved.empty()) {
    entries.push_back(
        {"R", CpuUse::kReserved,
         pool.contains_all(reserved) ? "reserved, and in the shared pool" : "reserved", reserved});
  }
  if (!(pool - reserved).empty())
    entries.push_back({".", CpuUse::kShared, "shared pool", pool - reserved});
  return render_node(agent.node().machine(), picture);
}

}  // namespace pinfold::tools
