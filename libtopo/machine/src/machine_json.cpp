#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "machine_fields.hpp"
#include "machine_info.hpp"
#include "pinfold/fields/json.hpp"
#include "pinfold/machine/fields.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold {
namespace {

using fields::between;
using fields::Fields;
using fields::up_to;
using nlohmann::json;

constexpr auto kMost = static_cast<std::int32_t>(kMaxId);

/// Reads the sizes of pages in any of their spellings.
void take_page_sizes(Fields& fields, const std::map<std::string, std::uint64_t>& named,
                     NumaNode& node) {
  node.hugepages.clear();
  for (const auto& [name, bytes] : named) {
    auto resource = parse_page_size(name);
    if (!resource) return fields.refuse("hugepages", resource.error().message);
    if (bytes > kMaxBytes) {
      return fields.refuse(
          "hugepages", fmt::format("'{}': expected at most {} bytes", printable(name), kMaxBytes));
    }
    const std::uint64_t page = page_bytes(*resource);
    if (bytes % page != 0) {
      return fields.refuse("hugepages", fmt::format("'{}': {}: expected bytes, a multiple of {}",
                                                    printable(name), bytes, page));
    }
    if (!node.hugepages.emplace(*std::move(resource), bytes).second) {
      return fields.refuse("hugepages",
                           fmt::format("'{}': this size is listed twice", printable(name)));
    }
  }
}

}  // namespace

void describe(Fields& fields, Cpu& cpu) {
  fields.type("Cpu", "An online logical CPU.");
  fields.member("id", up_to(cpu.id.value, kMost), "The kernel's number.");
  fields.member("core", up_to(cpu.core.value, kMost), "The lowest CPU of its core.");
  fields.member("socket", between(cpu.socket.value, -1, kMost), "Its package; -1: unknown.");
  fields.member("numa", up_to(cpu.numa.value, kMost), "Its NUMA node.");
  fields.may_lack("l3", between(cpu.l3.value, -1, kMost),
                  "Its last-level cache; the socket if the machine reports no cache.");
}

void describe(Fields& fields, NumaNode& node) {
  fields.type("NumaNode", "A NUMA node.");
  fields.member("id", up_to(node.id.value, kMost), "The kernel's number.");
  fields.member("memory", up_to(node.memory, kMaxBytes), "Bytes.");
  auto pages = node.hugepages;
  fields.may_lack("hugepages", pages, "Bytes by page size: \"hugepages-2Mi\".");
  if (fields.reads()) take_page_sizes(fields, pages, node);
  fields.may_lack("distances", node.distances,
                  "The distance to each node, in their order; empty: unknown.");
}

void describe(Fields& fields, Device& device) {
  fields.type("Device", "A device of an extended resource.");
  fields.member("resource", device.resource, "\"example.com/gpu\".");
  fields.member("id", device.id, "Unique within the resource.");
  fields.may_lack("numaNodes", device.numa_nodes, "The NUMA nodes near it; empty: none.");
  if (device.resource.empty()) fields.refuse("resource", "expected a name");
  if (device.id.empty()) fields.refuse("id", "expected a name");
}

void describe(Fields& fields, CoreKind& kind) {
  fields.type("CoreKind", "CPUs whose cores are of one kind.");
  fields.member(
      "name", kind.name,
      "\"performance\", \"efficiency\" or \"low-power\"; \"capacity 446\" by the kernel's "
      "cpu_capacity.");
  fields.member("cpus", kind.cpus, "");
  if (kind.name.empty()) fields.refuse("name", "expected a name");
}

void describe(Fields& fields, MachineDescription& machine) {
  fields.type("Machine", "The hardware of a node.");
  fields.may_lack("name", machine.name, "Of the node.");
  fields.member("cpus", machine.cpus, "The online CPUs.");
  fields.member("numaNodes", machine.numa_nodes, "");
  fields.may_lack("devices", machine.devices, "");
  fields.if_set("memoryCapacity", machine.memory_capacity,
                "Bytes of memory as the kubelet counts them, if it is not the sum of the nodes.");
  fields.if_set("coreKinds", machine.core_kinds,
                "The kinds of cores of a hybrid machine, the fastest first. No decision depends on "
                "them.");
}

void describe_value(Fields& fields, std::optional<Machine>& machine) {
  if (fields.reads()) {
    return fields.foreign({"Machine", "", nullptr, [&](const json& value) -> Result<void> {
                             PINFOLD_LET(machine, Machine::from_json(value));
                             return {};
                           }});
  }
  std::optional<MachineDescription> description;
  if (machine) description = machine->description();
  fields::visit(fields, description);
}

Result<Machine> Machine::from_json(const json& node) {
  if (!node.is_object()) return fail_field("node", node, "expected an object");
  if (is_machine_info(node)) {
    PINFOLD_LET(auto info, describe_machine_info(node));
    return make(std::move(info));
  }
  PINFOLD_LET(auto description, fields::read<MachineDescription>(node, {.path = "node"}));
  for (const Cpu& cpu : description.cpus) {
    if (cpu.l3.value < 0) description.has_cache_info = false;
  }
  if (!description.has_cache_info) {
    for (Cpu& cpu : description.cpus) cpu.l3 = CacheId{cpu.socket.value};
  }
  return make(std::move(description));
}

json Machine::to_json() const { return fields::to_json(description_); }

}  // namespace pinfold
