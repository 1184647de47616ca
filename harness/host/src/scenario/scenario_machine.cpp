#include "scenario/scenario_machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pinfold/api/pod.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/text/document.hpp"
#include "scenario/scenario_kubelet.hpp"

namespace pinfold::harness {
namespace {

constexpr std::pair<const char*, std::uint64_t> kHugePages[] = {{"2Mi", std::uint64_t{2} << 20},
                                                                {"1Gi", std::uint64_t{1} << 30}};
constexpr std::uint64_t kDefaultNodeMemory = std::uint64_t{512} << 20;

VmNode read_node(const Json& value, FieldPath path, std::optional<Complaint>& complaint) {
  VmNode node;
  FieldReader fields(value, std::move(path), complaint);
  node.cpus = fields.cpus("cpus");
  node.memory = fields.bytes("memory", kDefaultNodeMemory);
  if (const Json* pages = fields.find("hugePages")) {
    FieldReader sizes(*pages, fields.path_of("hugePages"), complaint);
    for (const auto& [name, size] : kHugePages) {
      const int count = sizes.integer(name, 0, 0, 65536);
      if (count > 0) node.huge_pages[size] = count;
    }
    sizes.finish();
  }
  fields.finish();
  return node;
}

void read_nodes(FieldReader& fields, VmMachine& machine, std::optional<Complaint>& complaint) {
  const Json* nodes = fields.find("nodes");
  if (nodes == nullptr) {
    machine.nodes = {{CpuSet::range(0, machine.cpu_count() - 1), kDefaultNodeMemory, {}}};
    return;
  }
  if (!nodes->is_array() || nodes->size() > 64) {
    fields.complain("nodes", show_value(*nodes) + ": expected a list of at most 64 nodes");
    return;
  }
  for (std::size_t i = 0; i < nodes->size() && !complaint; ++i) {
    FieldPath path = fields.path_of("nodes");
    path.push_back(std::to_string(i));
    machine.nodes.push_back(read_node((*nodes)[i], std::move(path), complaint));
  }
}

/// Reads a list of {node: N}, one for each device.
void read_devices(FieldReader& fields, VmMachine& machine, std::optional<Complaint>& complaint) {
  const Json* devices = fields.find("devices");
  if (devices == nullptr) return;
  if (!devices->is_array() || devices->size() > 64) {
    fields.complain("devices", show_value(*devices) + ": expected a list of at most 64 devices");
    return;
  }
  for (std::size_t i = 0; i < devices->size() && !complaint; ++i) {
    FieldPath path = fields.path_of("devices");
    path.push_back(std::to_string(i));
    FieldReader device((*devices)[i], std::move(path), complaint);
    machine.devices.push_back(device.integer("node", 0, 0, 63));
    device.finish();
  }
  std::sort(machine.devices.begin(), machine.devices.end());
}

std::optional<VmDisk> read_disk(FieldReader& fields, std::optional<Complaint>& complaint) {
  const Json* value = fields.find("disk");
  if (value == nullptr) return std::nullopt;
  FieldReader disk(*value, fields.path_of("disk"), complaint);
  VmDisk read;
  read.filesystem = disk.choice<Filesystem>(
      "filesystem", {{"ext4", Filesystem::kExt4}, {"xfs", Filesystem::kXfs}});
  const bool xfs = read.filesystem == Filesystem::kXfs;
  read.size = disk.bytes("size", std::uint64_t{xfs ? 64U : 16U} << 20);
  read.folder = disk.required_text("folder");
  disk.finish();
  return read;
}

void read_distances(FieldReader& fields, VmMachine& machine) {
  const std::size_t count = machine.nodes.size();
  const Json* rows = fields.find("distances");
  if (rows == nullptr) {
    machine.distances.assign(count, std::vector<int>(count, 20));
    for (std::size_t i = 0; i < count; ++i) machine.distances[i][i] = 10;
    return;
  }
  bool ok = rows->is_array();
  for (std::size_t i = 0; ok && i < rows->size(); ++i) {
    const Json& row = (*rows)[i];
    ok = row.is_array();
    machine.distances.emplace_back();
    for (std::size_t j = 0; ok && j < row.size(); ++j) {
      ok = row[j].is_number_integer() && row[j] >= 0 && row[j] <= 255;
      if (ok) machine.distances.back().push_back(row[j].get<int>());
    }
  }
  if (!ok) fields.complain("distances", show_value(*rows) + ": expected rows of numbers");
}

}  // namespace

VmMachine read_machine(const Json& value, const FieldPath& path, const Platform& platform,
                       std::optional<Complaint>& complaint) {
  VmMachine machine;
  machine.platform = platform;
  FieldReader fields(value, path, complaint);
  for (const char* moved : {"kernel", "cgroup"}) {
    if (value.contains(moved)) {
      fields.complain(moved, fmt::format("expected `on` at the top level, such as on: [{}]",
                                         to_string(Platform{})));
    }
  }
  machine.sockets = fields.integer("sockets", 1, 1, kMaxSockets);
  machine.dies = fields.integer("dies", 1, 1, kMaxDies);
  machine.cores = fields.integer("cores", 1, 1, kMaxCores);
  machine.threads = fields.integer("threads", 1, 1, kMaxThreads);
  machine.caches = fields.integer("caches", 1, 1, kMaxCaches);
  machine.absent = fields.cpus("absentCpus");
  machine.pluggable_memory = fields.bytes("pluggableMemory", 0);
  machine.kernel_arguments = fields.text("kernelArguments", "");
  machine.disk = read_disk(fields, complaint);
  machine.kubelet = read_kubelet_program(fields, "kubelet");
  read_nodes(fields, machine, complaint);
  read_devices(fields, machine, complaint);
  machine.network_cards = fields.integer("networkCards", 0, 0, kMaxNetworkCards);
  read_distances(fields, machine);
  fields.finish();
  if (complaint) return machine;
  if (const auto checked = check_machine(machine); !checked) {
    complaint = Complaint{path, checked.error().message};
  }
  return machine;
}

Json spelled_out(Json machine, const Machines& machines, std::optional<Complaint>& complaint) {
  const bool changed = machine.is_object() && machine.contains("like");
  if (!changed && !machine.is_string()) return machine;
  const Json name = changed ? machine["like"] : machine;
  const auto named = machines.find(scalar_text(name).value_or(""));
  if (named == machines.end()) {
    std::vector<std::string_view> known;
    for (const auto& [one, fields] : machines) known.push_back(one);
    complaint = Complaint{
        changed ? FieldPath{"machine", "like"} : FieldPath{"machine"},
        fmt::format("{}: not a machine of machines.yaml, {}", show_value(name),
                    known.empty() ? "which has none"
                                  : expected_one_of(known, scalar_text(name).value_or("")))};
    return machine;
  }
  Json spelled = named->second;
  if (changed) {
    machine.erase("like");
    spelled.merge_patch(machine);
  }
  return spelled;
}

Result<Machines> parse_machines(std::string_view yaml_or_json) {
  PINFOLD_LET(const auto document, parse_document(yaml_or_json));
  std::optional<Complaint> complaint;
  Machines machines;
  if (!document.is_object()) {
    complaint = Complaint{{}, show_value(document) + ": expected names with machines"};
  }
  for (const auto& [name, machine] : document.items()) {
    if (complaint) break;
    if (!is_safe_name(name)) {
      complaint = Complaint{{name}, "expected a name of letters, digits, '.', '-' and '_'"};
    }
    (void)read_machine(machine, {name}, Platform{}, complaint);
    machines.emplace(name, machine);
  }
  if (complaint) return fail(error_of(yaml_or_json, *complaint));
  return machines;
}

Result<VmMachine> read_machine_json(const Json& machine) {
  std::optional<Complaint> complaint;
  VmMachine read = read_machine(machine, {}, Platform{}, complaint);
  if (complaint) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}{}{}", to_string(complaint->path),
                            complaint->path.empty() ? "" : ": ", complaint->text));
  }
  return read;
}

}  // namespace pinfold::harness
