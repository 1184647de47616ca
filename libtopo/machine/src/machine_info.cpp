#include "machine_info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "machine_fields.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/types/quantity.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

constexpr std::uint64_t kKiB = 1024;

/// Returns the elements of a list of objects; empty if it is absent or null, as Go writes an empty
/// list.
Result<std::vector<const json*>> objects_of(const json& object, const char* key,
                                            const std::string& where) {
  std::vector<const json*> out;
  const json* const items = member(object, key);
  if (items == nullptr) return out;
  const std::string field = fmt::format("{}.{}", where, key);
  if (!items->is_array()) return fail_field(field, *items, "expected a list");
  for (const json& item : *items) {
    if (!item.is_object()) return fail_field(field, item, "expected an object");
    out.push_back(&item);
  }
  return out;
}

Result<void> read_pages(const json& item, const std::string& where, NumaNode& node) {
  PINFOLD_LET(const auto sizes, objects_of(item, "hugepages", where));
  for (const json* const pages : sizes) {
    const std::string place = where + ".hugepages";
    PINFOLD_LET(const auto kib, number(*pages, "page_size", place, kMaxBytes / kKiB));
    if (kib == 0) return fail_field(place + ".page_size", 0, "expected a size in KiB");
    PINFOLD_LET(const auto count, number(*pages, "num_pages", place, kMaxBytes / kKiB / kib));
    const auto size = static_cast<std::int64_t>(kib * kKiB);
    node.hugepages["hugepages-" + Quantity::bytes(size).to_string()] = count * kib * kKiB;
  }
  return {};
}

Result<void> read_distances(const json& item, const std::string& where, NumaNode& node) {
  const json* const distances = member(item, "distances");
  if (distances == nullptr) return {};
  if (!distances->is_array())
    return fail_field(where + ".distances", *distances, "expected a list");
  for (const json& value : *distances) {
    if (!is_whole(value, kMaxId)) {
      return fail_field(where + ".distances", value, "expected a whole number");
    }
    node.distances.push_back(value.get<std::uint32_t>());
  }
  return {};
}

Result<void> read_core_of(const json& item, const std::string& where, NumaId numa,
                          MachineDescription& out) {
  Cpu cpu;
  cpu.numa = numa;
  const json* const socket = member(item, "socket_id");
  if (socket != nullptr && *socket == -1) {
    cpu.socket = SocketId{-1};  // as Linux says of some virtual machines
  } else if (socket != nullptr) {
    PINFOLD_TRY(read_id(item, "socket_id", where, cpu.socket));
  } else {
    cpu.socket = SocketId{0};
  }
  PINFOLD_LET(const auto caches, objects_of(item, "uncore_caches", where));
  if (caches.empty()) out.has_cache_info = false;
  cpu.l3 = CacheId{cpu.socket.value};
  if (!caches.empty()) {
    PINFOLD_TRY(read_id(*caches.front(), "id", where + ".uncore_caches", cpu.l3));
  }
  const json* const threads = member(item, "thread_ids");
  if (threads == nullptr || !threads->is_array()) {
    return fail(ErrorCode::kInvalidArgument, where + ".thread_ids: expected a list of CPUs");
  }
  const std::size_t first = out.cpus.size();
  for (const json& thread : *threads) {
    if (!is_whole(thread, kMaxId)) {
      return fail_field(where + ".thread_ids", thread, "expected a CPU id");
    }
    cpu.id = CpuId{thread.get<std::int32_t>()};
    out.cpus.push_back(cpu);
  }
  CoreId core{std::numeric_limits<std::int32_t>::max()};
  for (std::size_t i = first; i < out.cpus.size(); ++i) {
    core = std::min(core, CoreId{out.cpus[i].id.value});
  }
  for (std::size_t i = first; i < out.cpus.size(); ++i) out.cpus[i].core = core;
  return {};
}

}  // namespace

bool is_machine_info(const json& object) {
  return object.contains("topology") && !object.contains("cpus");
}

Result<MachineDescription> describe_machine_info(const json& info) {
  MachineDescription out;
  PINFOLD_LET(const auto nodes, objects_of(info, "topology", "machineInfo"));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string where = fmt::format("machineInfo.topology[{}]", i);
    NumaNode node;
    PINFOLD_TRY(read_id(*nodes[i], "node_id", where, node.id));
    PINFOLD_LET(node.memory, number(*nodes[i], "memory", where, kMaxBytes));
    PINFOLD_TRY(read_pages(*nodes[i], where, node));
    PINFOLD_TRY(read_distances(*nodes[i], where, node));
    PINFOLD_LET(const auto cores, objects_of(*nodes[i], "cores", where));
    for (std::size_t c = 0; c < cores.size(); ++c) {
      PINFOLD_TRY(read_core_of(*cores[c], fmt::format("{}.cores[{}]", where, c), node.id, out));
    }
    out.numa_nodes.push_back(std::move(node));
  }
  if (member(info, "memory_capacity") != nullptr) {
    PINFOLD_LET(out.memory_capacity, number(info, "memory_capacity", "machineInfo", kMaxBytes));
  }
  const json* const cores = member(info, "num_cores");
  if (cores != nullptr && is_whole(*cores, kMaxId) && *cores != out.cpus.size()) {
    out.warnings.push_back(
        fmt::format("machineInfo: num_cores is {}, but the topology has {} CPUs: a kubelet counts "
                    "num_cores for the requests of pods, and here the topology counts",
                    cores->dump(), out.cpus.size()));
  }
  return out;
}

}  // namespace pinfold
