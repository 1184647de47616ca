#include "pinfold/agent/known_machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "pinfold/agent/node_file.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/decide/start_advice.hpp"
#include "pinfold/memory/memory_drift.hpp"
#include "pinfold/types/named.hpp"
#include "pinfold/types/quantity.hpp"

namespace pinfold::agent {
namespace {

/// Reads the machine of the state. nullopt if there is no state, or it cannot be read: then any
/// machine is accepted.
std::optional<Machine> read_known(const checkpoint::Files& files, const LogSink& log) {
  if (!files.cpu || !files.node) return std::nullopt;
  auto node = decode_node(*files.node);
  if (node) return std::move(node->machine);
  if (log) {
    log(LogLevel::kWarning, fmt::format("'{}' is damaged: {}; the machine of the state is unknown",
                                        checkpoint::kNodeFileName, node.error().message));
  }
  return std::nullopt;
}

/// Returns whether the common CPUs are on the same sockets and NUMA nodes.
bool agree_on_cpus(const Machine& a, const Machine& b) {
  const CpuSet both = a.all_cpus() & b.all_cpus();
  return std::all_of(both.begin(), both.end(), [&](CpuId id) {
    const Cpu* const one = a.find(id);
    const Cpu* const other = b.find(id);
    return one->socket == other->socket && one->numa == other->numa;
  });
}

std::set<NumaId> numa_ids(const Machine& machine) {
  std::set<NumaId> ids;
  for (const NumaNode& node : machine.numa_nodes()) ids.insert(node.id);
  return ids;
}

bool is_same_with_more(const Machine& more, const Machine& less) {
  return more.all_cpus().contains_all(less.all_cpus()) && more.all_cpus() != less.all_cpus() &&
         numa_ids(more) == numa_ids(less) && agree_on_cpus(more, less);
}

/// Returns whether `observed` has all NUMA nodes of `known`, and common CPUs are in the same place.
bool has_all_of(const Machine& observed, const Machine& known) {
  const std::set<NumaId> now = numa_ids(observed);
  const std::set<NumaId> then = numa_ids(known);
  return std::includes(now.begin(), now.end(), then.begin(), then.end()) &&
         agree_on_cpus(observed, known);
}

bool would_start(const Machine& machine, const Config& config, const checkpoint::Files& files) {
  const auto node = make_node(machine, config);
  return node && checkpoint::would_start(*node, {files.cpu, files.memory}, {});
}

std::string size_text(std::uint64_t bytes) {
  return Quantity::bytes(static_cast<std::int64_t>(bytes)).to_string();
}

using Sizes = std::map<std::string, std::uint64_t>;
Sizes sizes_of(const NumaNode& node) {
  Sizes sizes = node.hugepages;
  sizes["memory"] = node.memory;
  return sizes;
}

void compare_sizes(const NumaNode& before, const NumaNode& after, std::vector<std::string>& out) {
  Sizes was = sizes_of(before);
  Sizes is = sizes_of(after);
  for (const auto& [resource, bytes] : is) was.try_emplace(resource, 0);
  for (const auto& [resource, bytes] : was) {
    if (bytes == is[resource]) continue;
    out.push_back(fmt::format("NUMA node {}: {} of {} becomes {}", before.id.value, resource,
                              size_text(bytes), size_text(is[resource])));
  }
}

template <class Place>
void compare_places(const Machine& before, const Machine& after, Place Cpu::*place,
                    std::string_view what, std::vector<std::string>& out) {
  CpuSet moved;
  for (const Cpu& cpu : before.cpus()) {
    const Cpu* const same = after.find(cpu.id);
    if (same != nullptr && same->*place != cpu.*place) moved.insert(cpu.id);
  }
  if (moved.empty()) return;
  out.push_back(
      fmt::format("{} {} another {}", cpus_named(moved), one_or_more(moved, "has", "have"), what));
}

std::string distances_text(const NumaNode& node) {
  return node.distances.empty() ? "(unknown)" : fmt::format("{}", fmt::join(node.distances, " "));
}

void compare_devices(const Machine& before, const Machine& after, std::vector<std::string>& out) {
  std::map<std::string, std::pair<std::vector<Device>, std::vector<Device>>> devices;
  for (const Device& one : before.description().devices) devices[one.resource].first.push_back(one);
  for (const Device& one : after.description().devices) devices[one.resource].second.push_back(one);
  for (const auto& [resource, both] : devices) {
    if (both.first == both.second) continue;
    out.push_back(fmt::format("the devices of '{}' changed or moved: {} before, {} now", resource,
                              both.first.size(), both.second.size()));
  }
}

const NumaNode* find_node(const Machine& machine, NumaId id) {
  const auto& nodes = machine.numa_nodes();
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const NumaNode& node) { return node.id == id; });
  return found == nodes.end() ? nullptr : &*found;
}

MachineDescription without_sizes(MachineDescription description) {
  for (NumaNode& node : description.numa_nodes) {
    node.memory = 0;
    node.hugepages.clear();
  }
  return description;
}

/// Compares machines with the same CPUs, NUMA nodes and memory.
void compare_rest(const Machine& before, const Machine& after, std::vector<std::string>& out) {
  const std::string& name = after.description().name;
  if (before.description().name != name) {
    out.push_back(fmt::format("name '{}' becomes '{}'", before.description().name, name));
  }
  compare_places(before, after, &Cpu::core, "core", out);
  compare_places(before, after, &Cpu::socket, "socket", out);
  compare_places(before, after, &Cpu::numa, "NUMA node", out);
  compare_places(before, after, &Cpu::l3, "L3 cache", out);
  for (const NumaNode& node : before.numa_nodes()) {
    const NumaNode* const same = find_node(after, node.id);
    if (same == nullptr || same->distances == node.distances) continue;
    out.push_back(fmt::format("NUMA node {}: distances {} become {}", node.id.value,
                              distances_text(node), distances_text(*same)));
  }
  compare_devices(before, after, out);
}

/// Says which sizes of memory have changed although they are part of the node.
void log_drift(const Machine& known, const Machine& observed, const Config& config,
               const LogSink& log) {
  if (!log || config.memory_manager_policy_options.empty()) return;
  const auto drift = machine_differences(known, observed, memory_sizes_of(config));
  if (drift.empty()) return;
  log(LogLevel::kWarning, fmt::format("memory-drift-tolerance: {}; the pods keep their memory",
                                      fmt::join(drift, "; ")));
}

}  // namespace

Config with_kernel_image(Config config, const std::string& iomem, const LogSink& log) {
  if (!needs_kernel_image(config)) return config;
  const std::string text = iomem.empty() ? "" : read_file(iomem).value_or("");
  config.kernel_image.bytes = kernel_image_size(text);
  if (!config.kernel_image.bytes && log) {
    log(LogLevel::kWarning,
        fmt::format("memory-drift-tolerance: {} does not show the size of the kernel, so 'auto' "
                    "tolerates nothing: set an amount",
                    iomem.empty() ? "a machine file" : fmt::format("'{}'", iomem)));
  }
  return config;
}

Result<Node> make_node(const Machine& machine, const Config& config, Node::Providers providers) {
  auto node = Node::make(machine, config, std::move(providers));
  if (node) return *std::move(node);
  return fail(ErrorCode::kInvalidArgument, describe_start_error(machine, config, node.error()));
}

KnownMachine known_machine(Machine observed, checkpoint::Store& store, const LogSink& log) {
  const auto files = store.load();
  auto known = files ? read_known(*files, log) : std::nullopt;
  if (!known) return {std::move(observed), {}};
  return known_machine(std::move(observed), *std::move(known));
}

KnownMachine known_machine(Machine observed, Machine known) {
  if (!is_same_with_more(known, observed)) return {std::move(observed), {}};
  CpuSet offline = known.all_cpus() - observed.all_cpus();
  return {std::move(known), std::move(offline)};
}

KnownMachine machine_to_start_with(Machine observed, const Config& config, checkpoint::Store& store,
                                   const LogSink& log) {
  const auto files = store.load();
  // Most starts are on the node of the file, and making its text is faster than reading it.
  if (files && files->node == encode_node(observed, config, nullptr)) {
    return {std::move(observed), {}, std::nullopt, true};
  }
  auto known = files ? read_known(*files, log) : std::nullopt;
  if (!known || *known == observed) return {std::move(observed), {}};
  const bool allows_offline = !config.quirks().offline_cpus_prevent_start;
  const bool has_same_cpus = known->all_cpus() == observed.all_cpus();
  const bool has_offline = allows_offline && is_same_with_more(*known, observed);
  if (!has_offline) {
    if (would_start(observed, config, *files)) {
      log_drift(*known, observed, config, log);
      return {std::move(observed), {}};
    }
    const bool is_harmless = (has_same_cpus || allows_offline) && has_all_of(observed, *known);
    if (!is_harmless || !would_start(*known, config, *files)) return {std::move(observed), {}};
  }
  KnownMachine out{*std::move(known), {}};
  out.offline = out.machine.all_cpus() - observed.all_cpus();
  const bool differs =
      !machine_differences(out.machine, observed, memory_sizes_of(config), out.offline).empty();
  if (differs) out.observed = std::move(observed);
  return out;
}

std::vector<std::string> memory_that_is_gone(const MemoryState& before, const MemoryState& after,
                                             const Machine& observed) {
  const auto reserved = [](const MemoryState& state, std::int32_t node, const std::string& type) {
    const auto found = state.machine_state.find(node);
    if (found == state.machine_state.end()) return std::uint64_t{0};
    const auto table = found->second.tables.find(type);
    return table == found->second.tables.end() ? 0 : table->second.reserved;
  };
  std::vector<std::string> out;
  for (const auto& [id, memory] : after.machine_state) {
    const NumaNode* const node = find_node(observed, NumaId{id});
    Sizes sizes = node == nullptr ? Sizes() : sizes_of(*node);
    for (const auto& [type, table] : memory.tables) {
      const std::uint64_t needed = table.reserved + table.system_reserved;
      if (table.reserved <= reserved(before, id, type) || needed <= sizes[type]) continue;
      out.push_back(fmt::format(
          "NUMA node {}: {} of {} is allocated and {} is reserved, but the machine now has only {}",
          id, size_text(table.reserved), type, size_text(table.system_reserved),
          size_text(sizes[type])));
    }
  }
  return out;
}

MemorySizes memory_sizes_of(const Config& config) {
  return config.memory_manager_policy == "Static" ? MemorySizes::kCount : MemorySizes::kIgnored;
}

bool is_same_machine(const Machine& a, const Machine& b, MemorySizes sizes) {
  if (a == b) return true;
  return sizes == MemorySizes::kIgnored &&
         without_sizes(a.description()) == without_sizes(b.description());
}

std::vector<std::string> machine_differences(const Machine& before, const Machine& after,
                                             MemorySizes sizes, const CpuSet& offline) {
  std::vector<std::string> out;
  const CpuSet gone = before.all_cpus() - after.all_cpus() - offline;
  const CpuSet added = after.all_cpus() - before.all_cpus();
  if (!gone.empty())
    out.push_back(
        fmt::format("{} no longer exist{}", cpus_named(gone), one_or_more(gone, "s", "")));
  if (!added.empty())
    out.push_back(fmt::format("{} {} new", cpus_named(added), one_or_more(added, "is", "are")));
  for (const NumaNode& node : before.numa_nodes()) {
    const NumaNode* const same = find_node(after, node.id);
    if (same == nullptr) {
      out.push_back(fmt::format("NUMA node {} no longer exists", node.id.value));
    } else if (sizes == MemorySizes::kCount) {
      compare_sizes(node, *same, out);
    }
  }
  for (const NumaNode& node : after.numa_nodes()) {
    if (find_node(before, node.id) != nullptr) continue;
    out.push_back(fmt::format("NUMA node {} is new", node.id.value));
  }
  if (out.empty() && offline.empty() && !is_same_machine(before, after, sizes)) {
    compare_rest(before, after, out);
  }
  return out;
}

}  // namespace pinfold::agent
