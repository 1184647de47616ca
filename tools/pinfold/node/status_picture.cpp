#include "node/status_picture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "node/live_node.hpp"

namespace pinfold::tools {
namespace {

using agent::ContainerStatus;
using agent::PodStatus;

/// Returns "2Gi on 0, 1Gi of 2Mi on 0".
std::string memory_text(const std::vector<MemoryBlock>& blocks) {
  std::vector<std::string> parts;
  for (const MemoryBlock& block : blocks) {
    if (block.size == 0) continue;
    const std::size_t dash = block.type.find('-');
    parts.push_back(
        fmt::format("{}{} on {}", human_bytes(block.size),
                    dash == std::string::npos ? "" : " of " + block.type.substr(dash + 1),
                    fmt::join(block.numa_affinity, ",")));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void add_pod(const PodStatus& pod, std::vector<Overlay::Entry>& entries) {
  const std::string name = pod.spec.namespace_name + "/" + pod.spec.name;
  CpuSet within_pod;
  for (const ContainerStatus& container : pod.containers) {
    if (container.desired.isolation == Isolation::kPod) within_pod |= container.desired.cpus;
    if (container.desired.isolation != Isolation::kContainer) continue;
    entries.push_back({overlay_label(entries.size()), CpuUse::kExclusive,
                       name + "/" + container.resources.name, container.desired.cpus,
                       memory_text(container.resources.memory),
                       ContainerRef{ref_of(pod.spec), container.resources.name}});
  }
  if (within_pod.empty()) return;
  entries.push_back({overlay_label(entries.size()), CpuUse::kExclusive, name + ", pod shared pool",
                     within_pod, "", ContainerRef{ref_of(pod.spec), ""}});
}

/// Returns the CPUs on which a container can run but should not, or should but cannot, and the
/// exclusive CPUs on which foreign groups can run.
CpuSet drifting_cpus(const agent::NodeStatus& status) {
  CpuSet cpus;
  CpuSet exclusive;
  for (const PodStatus& pod : status.pods) {
    for (const ContainerStatus& container : pod.containers) {
      const CpuSet& desired = container.desired.cpus;
      if (container.desired.isolation != Isolation::kHost) exclusive |= desired;
      if (container.problem.empty() || !container.observed || desired.empty()) continue;
      const CpuSet& observed = container.observed->effective_cpus;
      cpus |= (desired - observed) | (observed - desired);
    }
  }
  for (const agent::HeldContainer& held : status.held) exclusive |= held.cpus;
  for (const enforce::ForeignGroup& group : status.foreign) {
    if (group.processes > 0) cpus |= group.cpus & exclusive;
  }
  return cpus;
}

}  // namespace

Overlay owners_of(const Machine& machine, const agent::NodeStatus& status) {
  Overlay overlay;
  auto& entries = overlay.entries;
  for (const PodStatus& pod : status.pods) add_pod(pod, entries);
  for (const agent::HeldContainer& held : status.held) {
    if (held.cpus.empty()) continue;
    entries.push_back({overlay_label(entries.size()), CpuUse::kExclusive,
                       to_string(held.container) + ", held", held.cpus, "", held.container});
  }
  const CpuSet pool =
      status.shared_pool.empty() && entries.empty() ? machine.all_cpus() : status.shared_pool;
  if (!status.reserved.empty()) {
    entries.push_back(
        {"R", CpuUse::kReserved,
         pool.contains_all(status.reserved) ? "reserved, and in the shared pool" : "reserved",
         status.reserved});
  }
  const CpuSet rest = pool - status.reserved - status.offline;
  if (!rest.empty()) entries.push_back({".", CpuUse::kShared, "shared pool", rest});
  if (!status.offline.empty()) {  // at the front, because the first entry with a CPU counts
    entries.insert(entries.begin(), {"-", CpuUse::kOffline, "offline", status.offline});
  }
  const CpuSet drift = drifting_cpus(status);
  if (!drift.empty()) overlay.marks.push_back({"!", "drift", drift});
  return overlay;
}

std::vector<NumaUse> numa_use(const Node& node, const NodeState& state,
                              const std::string& live_root) {
  std::vector<NumaUse> all;
  for (const NumaNode& numa : node.machine().numa_nodes()) {
    const LiveMemory live = live_root.empty() ? LiveMemory{} : read_live_memory(live_root, numa.id);
    const auto managed = state.memory.machine_state.find(numa.id.value);
    const auto use_of = [&](const std::string& resource, const std::string& kind,
                            std::uint64_t total, std::optional<std::uint64_t> kernel_free) {
      MemoryUse use{kind, total, 0, 0, kernel_free};
      if (managed == state.memory.machine_state.end()) return use;
      const auto table = managed->second.tables.find(resource);
      if (table == managed->second.tables.end()) return use;
      use.reserved = table->second.system_reserved;
      use.held = table->second.reserved;
      return use;
    };
    NumaUse use;
    use.memory.push_back(use_of("memory", "regular", numa.memory, live.free));
    for (const auto& [resource, bytes] : numa.hugepages) {
      const auto free = live.hugepages.find(resource);
      use.memory.push_back(
          use_of(resource, resource.substr(resource.find('-') + 1), bytes,
                 free == live.hugepages.end() ? std::nullopt : std::optional(free->second)));
    }
    use.in_large_blocks = live.in_large_blocks;
    all.push_back(std::move(use));
  }
  return all;
}

Picture picture_of(const agent::NodeAgent& agent, const agent::NodeStatus& status,
                   const std::string& live_root) {
  Picture picture;
  picture.style = terminal_style();
  picture.overlay = owners_of(agent.node().machine(), status);
  picture.numa = numa_use(agent.node(), agent.state().node, live_root);
  picture.assigns_memory = agent.node().memory().is_static();
  return picture;
}

Picture picture_of(const agent::NodeAgent& agent, const NodeState& state) {
  agent::AgentState all = agent.state();
  all.node = state;
  agent::NodeStatus status;
  status.shared_pool = agent::shared_pool(agent.node(), state);
  status.reserved = agent.node().cpu().reserved();
  status.offline = agent.offline();
  status.held = agent::held_containers(agent.desired(), agent.state().node);
  std::erase_if(status.held, [&](const agent::HeldContainer& held) {
    return state.find(held.container.pod.uid) != nullptr;  // taken over
  });
  for (const ActivePod& pod : state.pods) {
    auto desired = agent::desired_pod(agent, all, pod.spec.uid);
    if (desired) status.pods.push_back(*std::move(desired));
  }
  Picture picture;
  picture.overlay = owners_of(agent.node().machine(), status);
  picture.numa = numa_use(agent.node(), state, "");
  picture.assigns_memory = agent.node().memory().is_static();
  return picture;
}

std::vector<std::string> notes_of(const agent::NodeStatus& status) {
  std::vector<std::string> notes = status.affected;
  for (const std::string& line : status.drift) notes.push_back("Drift: " + line);
  return notes;
}

Result<void> write_svg(const std::string& file, const std::string& title,
                       const std::vector<SvgPanel>& panels) {
  errno = 0;
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << render_svg(title, panels);
  out.close();
  if (out) return {};
  const int error = errno;
  return fail(Error{ErrorCode::kIo, error,
                    fmt::format("--svg: write '{}': {}", file,
                                std::error_code(error, std::generic_category()).message())});
}

cli::Option svg_option(std::string& file) {
  return {"--svg", &file, "Also write the picture to FILE, as an SVG image", "FILE"};
}

}  // namespace pinfold::tools
