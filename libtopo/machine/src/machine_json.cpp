#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "machine_fields.hpp"
#include "machine_info.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

/// Reads a socket or cache id, or -1: some kernels report it for an unknown socket.
template <class Id>
Result<void> read_id_or_none(const json& object, const char* key, const std::string& where,
                             Id& out) {
  if (const auto it = object.find(key); it != object.end() && *it == -1) {
    out = Id{-1};
    return {};
  }
  return read_id(object, key, where, out);
}

Result<const json*> list_of(const json& object, const char* key, bool required) {
  static const json kEmpty = json::array();
  const auto it = object.find(key);
  if (it == object.end()) {
    if (required) return fail(ErrorCode::kInvalidArgument, fmt::format("node.{}: missing", key));
    return &kEmpty;
  }
  if (!it->is_array()) return fail_field(fmt::format("node.{}", key), *it, "expected a list");
  return &*it;
}

Result<Cpu> read_cpu(const json& item, const std::string& where) {
  if (!item.is_object()) return fail_field(where, item, "expected an object");
  Cpu cpu;
  PINFOLD_TRY(read_id(item, "id", where, cpu.id));
  PINFOLD_TRY(read_id(item, "core", where, cpu.core));
  PINFOLD_TRY(read_id_or_none(item, "socket", where, cpu.socket));
  PINFOLD_TRY(read_id(item, "numa", where, cpu.numa));
  if (item.contains("l3")) {
    PINFOLD_TRY(read_id_or_none(item, "l3", where, cpu.l3));
  }
  return cpu;
}

Result<NumaNode> read_numa_node(const json& item, const std::string& where) {
  if (!item.is_object()) return fail_field(where, item, "expected an object");
  NumaNode node;
  PINFOLD_TRY(read_id(item, "id", where, node.id));
  PINFOLD_LET(auto memory, number(item, "memory", where, kMaxBytes));
  node.memory = memory;
  if (const auto pages = item.find("hugepages"); pages != item.end()) {
    if (!pages->is_object()) return fail_field(where + ".hugepages", *pages, "expected an object");
    const std::string place = where + ".hugepages";
    for (const auto& [name, value] : pages->items()) {
      PINFOLD_LET(auto bytes, number(*pages, name.c_str(), place, kMaxBytes));
      PINFOLD_LET_WRAP(auto resource, parse_page_size(name), place);
      if (!node.hugepages.emplace(std::move(resource), bytes).second) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("{}: '{}': this size is listed twice", place, printable(name)));
      }
    }
  }
  if (const auto distances = item.find("distances"); distances != item.end()) {
    if (!distances->is_array())
      return fail_field(where + ".distances", *distances, "expected a list");
    for (const json& value : *distances) {
      if (!is_whole(value, kMaxId)) {
        return fail_field(where + ".distances", value, "expected a whole number");
      }
      node.distances.push_back(value.get<std::uint32_t>());
    }
  }
  return node;
}

Result<Device> read_device(const json& item, const std::string& where) {
  if (!item.is_object()) return fail_field(where, item, "expected an object");
  Device device;
  for (const auto& [key, out] : {std::pair{"resource", &device.resource}, {"id", &device.id}}) {
    const auto it = item.find(key);
    if (it == item.end() || !it->is_string() || it->get_ref<const std::string&>().empty()) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}.{}: expected a name", where, key));
    }
    *out = it->get<std::string>();
  }
  if (const auto nodes = item.find("numaNodes"); nodes != item.end()) {
    if (!nodes->is_array()) return fail_field(where + ".numaNodes", *nodes, "expected a list");
    for (const json& value : *nodes) {
      if (!is_whole(value, kMaxId)) {
        return fail_field(where + ".numaNodes", value, "expected a NUMA node id");
      }
      device.numa_nodes.push_back(NumaId{value.get<std::int32_t>()});
    }
  }
  return device;
}

template <class Item, class Read>
Result<void> read_list(const json& node, const char* key, bool required, Read read,
                       std::vector<Item>& out) {
  PINFOLD_LET(auto items, list_of(node, key, required));
  for (std::size_t i = 0; i < items->size(); ++i) {
    PINFOLD_LET(auto item, read((*items)[i], fmt::format("node.{}[{}]", key, i)));
    out.push_back(std::move(item));
  }
  return {};
}

}  // namespace

Result<Machine> Machine::from_json(const json& node) {
  if (!node.is_object()) return fail_field("node", node, "expected an object");
  if (is_machine_info(node)) {
    PINFOLD_LET(auto info, describe_machine_info(node));
    return make(std::move(info));
  }
  MachineDescription description;
  if (const auto name = node.find("name"); name != node.end()) {
    if (!name->is_string()) return fail_field("node.name", *name, "expected a string");
    description.name = name->get<std::string>();
  }
  PINFOLD_TRY(read_list(node, "cpus", true, read_cpu, description.cpus));
  PINFOLD_TRY(read_list(node, "numaNodes", true, read_numa_node, description.numa_nodes));
  PINFOLD_TRY(read_list(node, "devices", false, read_device, description.devices));
  if (node.contains("memoryCapacity")) {
    PINFOLD_LET(description.memory_capacity, number(node, "memoryCapacity", "node", kMaxBytes));
  }
  for (const Cpu& cpu : description.cpus) {
    if (cpu.l3.value < 0) description.has_cache_info = false;
  }
  if (!description.has_cache_info) {
    for (Cpu& cpu : description.cpus) cpu.l3 = CacheId{cpu.socket.value};
  }
  return make(std::move(description));
}

json Machine::to_json() const {
  json cpus_json = json::array();
  for (const Cpu& cpu : cpus()) {
    cpus_json.push_back({{"id", cpu.id.value},
                         {"core", cpu.core.value},
                         {"socket", cpu.socket.value},
                         {"numa", cpu.numa.value},
                         {"l3", cpu.l3.value}});
  }
  json nodes = json::array();
  for (const NumaNode& node : numa_nodes()) {
    nodes.push_back({{"id", node.id.value},
                     {"memory", node.memory},
                     {"hugepages", node.hugepages},
                     {"distances", node.distances}});
  }
  json devices_json = json::array();
  for (const Device& device : devices()) {
    json ids = json::array();
    for (const NumaId id : device.numa_nodes) ids.push_back(id.value);
    devices_json.push_back(
        {{"resource", device.resource}, {"id", device.id}, {"numaNodes", std::move(ids)}});
  }
  json out = {{"name", name()},
              {"cpus", std::move(cpus_json)},
              {"numaNodes", std::move(nodes)},
              {"devices", std::move(devices_json)}};
  if (description_.memory_capacity) out["memoryCapacity"] = *description_.memory_capacity;
  return out;
}

Result<Machine> parse_machine(std::string_view text) {
  PINFOLD_LET(const auto document, parse_document(text));
  return Machine::from_json(document);
}

}  // namespace pinfold
