#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agent_options.hpp"
#include "topology_picture.hpp"

/// How pods and containers of an agent are shown.
namespace pinfold::tools {
namespace {

using enforce::GroupName;
using nlohmann::json;

/// "" or what is wrong with a container.
std::string judge(const enforce::Group& wanted, const enforce::SeenContainer& seen) {
  if (!wanted.cpus.empty() && seen.effective_cpus != wanted.cpus) {
    return fmt::format("runs on CPUs {}, expected {}", seen.effective_cpus.to_string(),
                       wanted.cpus.to_string());
  }
  if (!wanted.mems.empty() && seen.effective_mems != wanted.mems) {
    return fmt::format("has memory nodes {}, expected {}", seen.effective_mems.to_string(),
                       wanted.mems.to_string());
  }
  return "";
}

std::string cpus_of(const ContainerView& container) { return container.wanted.cpus.to_string(); }

json to_json(const ContainerView& container, enforce::NodeAgent& agent) {
  const LinuxResources& linux_resources = container.decided.linux_resources;
  json out = {{"name", container.decided.name},
              {"isolation", to_string(container.wanted.isolation)},
              {"cpus", cpus_of(container)},
              {"exclusive_cpus", container.decided.exclusive_cpus.to_string()},
              {"mems", container.decided.cpuset_mems},
              {"cgroup", container.cgroup},
              {"shares", linux_resources.cpu_shares},
              {"weight", cpu_weight_runtime(linux_resources.cpu_shares)},
              {"values", container.wanted.values}};
  out["quota"] = linux_resources.cpu_quota ? json(*linux_resources.cpu_quota) : json();
  out["period"] = linux_resources.cpu_period ? json(*linux_resources.cpu_period) : json();
  out["memory_limit"] = linux_resources.memory_limit ? json(*linux_resources.memory_limit) : json();
  if (!container.decided.devices.empty()) out["devices"] = container.decided.devices;
  if (agent.enforces()) {
    out["cgroup_path"] = agent.cgroups()->root() + "/" + container.cgroup;
    out["problem"] = container.problem;
  }
  if (container.seen) {
    out["cpuset_cpus_effective"] = container.seen->effective_cpus.to_string();
    out["cpuset_mems_effective"] = container.seen->effective_mems.to_string();
    out["processes"] = container.seen->processes;
  }
  return out;
}

}  // namespace

std::optional<PodView> view_pod(enforce::NodeAgent& agent, const std::string& pod_uid) {
  const ActivePod* const pod = agent.state().node.find(pod_uid);
  if (pod == nullptr) return std::nullopt;
  PodView view;
  view.spec = pod->spec;
  view.qos = qos_class(pod->spec, agent.node().gates().pod_level_resources);
  const enforce::Layout wanted = agent.wanted();
  for (const Container& container : pod->spec.containers) {
    const GroupName name{pod_uid, container.name};
    const auto group = wanted.find(name);
    if (group == wanted.end()) continue;  // gone
    auto decided = container_resources(agent.node(), agent.state().node, pod_uid, container.name);
    if (!decided) continue;
    ContainerView one;
    one.decided = *std::move(decided);
    one.wanted = group->second;
    one.cgroup = to_string(name);
    if (agent.enforces()) {
      auto seen = agent.look(name);
      if (seen) {
        one.problem = judge(one.wanted, *seen);
        one.seen = *std::move(seen);
      } else {
        one.problem = seen.error().message;
      }
    }
    view.containers.push_back(std::move(one));
  }
  return view;
}

bool is_well(const PodView& pod) {
  return std::all_of(pod.containers.begin(), pod.containers.end(),
                     [](const ContainerView& container) { return container.problem.empty(); });
}

nlohmann::json to_json(const PodView& pod, enforce::NodeAgent& agent) {
  json containers = json::array();
  for (const ContainerView& container : pod.containers) {
    containers.push_back(to_json(container, agent));
  }
  json out = {{"uid", pod.spec.uid},
              {"name", pod.spec.name},
              {"namespace", pod.spec.namespace_name},
              {"qosClass", to_string(pod.qos)},
              {"containers", std::move(containers)}};
  if (agent.enforces()) {
    out["cgroup"] = to_string(GroupName{pod.spec.uid, ""});
    out["cgroup_path"] = agent.cgroups()->root() + "/" + out["cgroup"].get<std::string>();
  }
  return out;
}

nlohmann::json cgroups_json(enforce::NodeAgent& agent) {
  if (!agent.enforces()) return nullptr;
  return {{"mode", agent.cgroups()->mode()},
          {"root", agent.cgroups()->root()},
          {"warnings", agent.cgroups()->warnings()}};
}

std::string container_table(const std::vector<PodView>& pods, bool enforced) {
  const Style style = terminal_style();
  std::vector<TextTable::Column> columns = {{"POD"},       {"CONTAINER"}, {"QOS"},
                                            {"ISOLATION"}, {"CPUS"},      {"MEMS"}};
  if (enforced) {
    columns.insert(columns.end(), {{"RUNS ON"}, {"MEMORY ON"}, {"PROCS"}, {"VERDICT"}});
  }
  TextTable table(std::move(columns));
  const auto or_any = [](std::string list) { return list.empty() ? "any" : list; };
  for (const PodView& pod : pods) {
    for (const ContainerView& container : pod.containers) {
      std::vector<std::string> row = {pod.spec.namespace_name + "/" + pod.spec.name,
                                      container.decided.name,
                                      std::string(to_string(pod.qos)),
                                      std::string(to_string(container.wanted.isolation)),
                                      or_any(cpus_of(container)),
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

std::string node_picture(const enforce::NodeAgent& agent, const std::vector<PodView>& pods) {
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
  const CpuSet pool = enforce::shared_pool(agent.node(), agent.state().node);
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
