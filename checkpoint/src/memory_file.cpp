#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "memory_fields.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "restore.hpp"
#include "salvage.hpp"

namespace pinfold::checkpoint {
namespace {

using namespace memory_file;

enum class Version { kV1, kV2, kV3, kDataOfV3 };

/// `suffix`: of the name of the Go type.
std::uint32_t sum_of(const MemoryFile& file, Version version, std::string_view suffix = "") {
  const Fields<MemoryFile> fields{file.policy, file, version == Version::kV2};
  return fields_checksum(fields, suffix);
}

bool verify(const MemoryFile& file, Version version, bool pod_level_gate) {
  if (version == Version::kV1 && file.checksum == 0) return true;
  if (file.checksum == sum_of(file, version)) return true;
  // Earlier kubelets hashed the name of the type with its version.
  return version == Version::kV1 && !pod_level_gate && file.checksum == sum_of(file, version, "V1");
}

/// Like Go, an array replaces an earlier one, but a null in it keeps the earlier element.
template <class T, class ReadElement>
void read_array(JsonReader& json, std::string_view go_type, Nullable<std::vector<T>>& out,
                const ReadElement& read_element) {
  if (!begin(json, out)) return;
  std::size_t count = 0;
  const bool is_array = json.array(go_type, [&] {
    if (count == out->size()) out->emplace_back();
    read_element((*out)[count++]);
  });
  if (is_array) out->resize(count);
}

void read_ids(JsonReader& json, Nullable<Ids>& out) {
  read_array(json, "[]int", out, [&](std::int64_t& id) { json.read(id); });
}

void read_table(JsonReader& json, Nullable<MemoryTable>& out) {
  if (!begin(json, out)) return;
  const auto field = [&](std::string_view name, std::uint64_t& value) {
    const auto read = [&json, &value] { json.read(value); };
    return JsonReader::Field<decltype(read)>{name, read};
  };
  json.structure("state.MemoryTable", field("total", out->total),
                 field("systemReserved", out->system_reserved),
                 field("allocatable", out->allocatable), field("reserved", out->reserved),
                 field("free", out->free));
}

void read_node(JsonReader& json, Nullable<FileNode>& out) {
  if (!begin(json, out)) return;
  const auto read_number = [&] { json.read(out->number_of_assignments); };
  const auto read_cells = [&] { read_ids(json, out->cells); };
  const auto read_tables = [&] {
    if (!begin(json, out->tables)) return;
    json.map("map[v1.ResourceName]*state.MemoryTable", [&](const std::string& resource) {
      Nullable<MemoryTable>& table = (*out->tables)[resource];
      table.reset();
      read_table(json, table);
    });
  };
  json.structure("state.NUMANodeState", JsonReader::Field{"numberOfAssignments", read_number},
                 JsonReader::Field{"memoryMap", read_tables},
                 JsonReader::Field{"cells", read_cells});
}

void read_nodes(JsonReader& json, Nullable<Nodes>& out) {
  if (!begin(json, out)) return;
  json.map("state.NUMANodeMap", [&](const std::string& key) {
    Nullable<FileNode> node;
    read_node(json, node);
    if (const auto id = go::atoi(key)) {
      (*out)[*id] = std::move(node);
    } else {
      json.mismatch(fmt::format("number {}", key), "int");
    }
  });
}

void read_block(JsonReader& json, FileBlock& block) {
  const auto read_affinity = [&] { read_ids(json, block.numa_affinity); };
  const auto read_type = [&] { json.read(block.type, "v1.ResourceName"); };
  const auto read_size = [&] { json.read(block.size); };
  json.structure("state.Block", JsonReader::Field{"numaAffinity", read_affinity},
                 JsonReader::Field{"type", read_type}, JsonReader::Field{"size", read_size});
}

void read_blocks(JsonReader& json, Blocks& out) {
  read_array(json, "[]state.Block", out, [&](FileBlock& block) { read_block(json, block); });
}

void read_containers(JsonReader& json, Containers& out) {
  if (!begin(json, out)) return;
  json.map("map[string][]state.Block", [&](const std::string& container) {
    Blocks& blocks = (*out)[container];
    blocks.reset();
    read_blocks(json, blocks);
  });
}

void read_entries(JsonReader& json, MemoryFile& file) {
  if (!begin(json, file.assignments)) return;
  json.map("state.ContainerMemoryAssignments", [&](const std::string& pod) {
    Containers& containers = (*file.assignments)[pod];
    containers.reset();
    read_containers(json, containers);
  });
}

void read_pods(JsonReader& json, MemoryFile& file) {
  if (!begin(json, file.pods)) return;
  json.map("state.PodMemoryAssignments", [&](const std::string& pod) {
    Blocks& blocks = (*file.pods)[pod];
    blocks.reset();
    const auto read = [&] { read_blocks(json, blocks); };
    json.structure("state.PodEntry", JsonReader::Field{"memoryBlocks", read});
  });
}

/// Domain: `bytes` has no syntax error.
MemoryFile read(std::string_view bytes, Version version, std::string_view go_type) {
  MemoryFile file;
  JsonReader json(bytes);
  const auto field = [&](std::string_view name, bool known, const auto& read_value) {
    return versioned_field(json, name, known, read_value);
  };
  const bool is_v3 = version == Version::kV3;
  const bool has_pods = version == Version::kV2 || version == Version::kDataOfV3;
  json.structure(
      go_type,  //
      field("policyName", true, [&] { json.read(file.policy); }),
      field("machineState", true, [&] { read_nodes(json, file.machine_state); }),
      field("entries", true, [&] { read_entries(json, file); }),
      field("podEntries", has_pods, [&] { read_pods(json, file); }),
      field("checksum", version != Version::kDataOfV3,
            [&] { json.read(file.checksum, "checksum.Checksum"); }),
      field("data", is_v3, [&] { json.read(file.data); }),
      field("dataChecksum", is_v3, [&] { json.read(file.data_checksum, "checksum.Checksum"); }));
  file.error = json.error();
  return file;
}

Result<MemoryFile> check(MemoryFile file, Version version, bool pod_level_gate) {
  if (!file.error.empty()) return corrupt(file.error);
  if (!verify(file, version, pod_level_gate)) return wrong_checksum();
  return file;
}

Result<MemoryFile> load(std::string_view bytes, Version version, std::string_view go_type,
                        bool pod_level_gate) {
  return check(read(bytes, version, go_type), version, pod_level_gate);
}

Result<MemoryFile> load_newest(std::string_view bytes, bool pod_level_gate) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  auto pods = MemoryFile().pods;
  if (pod_level_gate) {
    MemoryFile v2 = read(bytes, Version::kV2, "state.MemoryManagerCheckpoint");
    pods = v2.pods;
    if (auto checked = check(std::move(v2), Version::kV2, pod_level_gate)) return checked;
  }
  auto v1 = load(bytes, Version::kV1, "state.MemoryManagerCheckpointV1", pod_level_gate);
  // Those of the failed attempt stay: the kubelet reuses its object.
  if (v1) v1->pods = std::move(pods);
  return v1;
}

/// The fields in `data` of a V3 file.
Result<MemoryFile> load_data_of_v3(const MemoryFile& v3) {
  return load_data(v3, "memory", [](std::string_view data) {
    return read(data, Version::kDataOfV3, "state.MemoryManagerCheckpointData");
  });
}

/// The same for a kubelet that writes V3.
Result<MemoryFile> load_newest_v3(std::string_view bytes, bool pod_level_gate) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  const MemoryFile v3 = read(bytes, Version::kV3, "state.MemoryManagerCheckpoint");
  auto file = load_data_of_v3(v3);
  if (!file && is_newest(v3)) {
    return fail(std::move(file).error().wrap("could not load v3 checkpoint"));
  }
  // Such a kubelet accepts no checksum over a type name with a version, as with the gate on.
  if (!file) file = load(bytes, Version::kV2, "state.MemoryManagerCheckpointV2", true);
  if (!file) file = load(bytes, Version::kV1, "state.MemoryManagerCheckpointV1", true);
  if (file && !pod_level_gate) file->pods.reset();
  return file;
}

Result<std::int32_t> to_id(std::int64_t id) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (id < Limits::min() || id > Limits::max()) {
    return corrupt(fmt::format("NUMA node id {} is out of range", id));
  }
  return static_cast<std::int32_t>(id);
}

Result<std::vector<std::int32_t>> to_ids(const Nullable<Ids>& ids) {
  std::vector<std::int32_t> out;
  if (!ids) return out;
  for (const std::int64_t id : *ids) {
    PINFOLD_LET(const auto narrow, to_id(id));
    out.push_back(narrow);
  }
  return out;
}

Result<std::vector<MemoryBlock>> to_blocks(const Blocks& blocks) {
  std::vector<MemoryBlock> out;
  if (!blocks) return out;
  for (const FileBlock& block : *blocks) {
    PINFOLD_LET(auto affinity, to_ids(block.numa_affinity));
    out.push_back({std::move(affinity), block.type, block.size});
  }
  return out;
}

Result<NodeMemory> to_node(const FileNode& node) {
  NodeMemory out;
  // Neither Pinfold nor the kubelet counts beyond that.
  out.number_of_assignments = static_cast<int>(
      std::clamp<std::int64_t>(node.number_of_assignments, std::numeric_limits<int>::min(),
                               std::numeric_limits<int>::max()));
  PINFOLD_LET(out.cells, to_ids(node.cells));
  if (!node.tables) return out;
  for (const auto& [resource, table] : *node.tables) {
    out.tables[resource] = table.value_or(MemoryTable());
  }
  return out;
}

Result<MemoryCheckpoint> to_state(const MemoryFile& file, std::optional<std::string_view> policy) {
  if (policy && file.policy != *policy) {
    return other_policy("[memorymanager] ", *policy, file.policy);
  }
  MemoryCheckpoint state;
  if (file.machine_state) {
    for (const auto& [wide_id, node] : *file.machine_state) {
      PINFOLD_LET(const auto id, to_id(wide_id));
      PINFOLD_LET(state.machine_state[id], to_node(node.value_or(FileNode())));
    }
  }
  if (file.assignments) {
    for (const auto& [pod, containers] : *file.assignments) {
      auto& assigned = state.assignments[PodUid(pod)];
      if (!containers) continue;
      for (const auto& [container, file_blocks] : *containers) {
        PINFOLD_LET(assigned[container], to_blocks(file_blocks));
      }
    }
  }
  if (file.pods) {
    for (const auto& [pod, file_blocks] : *file.pods) {
      PINFOLD_LET(state.pods[PodUid(pod)], to_blocks(file_blocks));
    }
  }
  return state;
}

}  // namespace

std::string encode_memory(const MemoryCheckpoint& state, std::string_view policy,
                          MemoryFormat format) {
  const Fields<MemoryCheckpoint> fields{policy, state, format == MemoryFormat::kV2};
  JsonWriter json;
  json.open_struct();
  put_fields(json, fields);
  put_checksum(json, fields_checksum(fields, ""));
  if (format == MemoryFormat::kV3) {
    JsonWriter data;
    data.open_struct();
    put_fields(data, Fields<MemoryCheckpoint>{policy, state, true});
    data.close_struct();
    put_data(json, data.text());
  }
  json.close_struct();
  return std::move(json).take();
}

std::string encode_memory(const MemoryCheckpoint& state, std::string_view policy,
                          bool pod_level_gate) {
  return encode_memory(state, policy, pod_level_gate ? MemoryFormat::kV2 : MemoryFormat::kV1);
}

namespace {

Result<std::optional<MemoryCheckpoint>> restored(const Result<MemoryFile>& file,
                                                 std::optional<std::string_view> policy,
                                                 std::string_view state_dir) {
  auto state = file.and_then([&](const MemoryFile& read) { return to_state(read, policy); });
  if (!state) {
    return drain_and_delete(std::move(state).error(), "memory", state_dir, kMemoryFileName);
  }
  return std::optional<MemoryCheckpoint>(*std::move(state));
}

}  // namespace

Result<std::optional<MemoryCheckpoint>> restore_memory(std::optional<std::string_view> bytes,
                                                       std::optional<std::string_view> policy,
                                                       bool pod_level_gate,
                                                       std::string_view state_dir) {
  if (!bytes) return std::optional<MemoryCheckpoint>();
  return restored(load_newest(*bytes, pod_level_gate), policy, state_dir);
}

Result<std::optional<MemoryCheckpoint>> restore_memory_v3(std::optional<std::string_view> bytes,
                                                          std::optional<std::string_view> policy,
                                                          bool pod_level_gate,
                                                          std::string_view state_dir) {
  if (!bytes) return std::optional<MemoryCheckpoint>();
  return restored(load_newest_v3(*bytes, pod_level_gate), policy, state_dir);
}

Result<Inspected<MemoryCheckpoint>> inspect_memory(std::string_view bytes) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  int version = 3;
  auto file = load_data_of_v3(read(bytes, Version::kV3, "state.MemoryManagerCheckpoint"));
  for (const Version older : {Version::kV2, Version::kV1}) {
    if (file) break;
    --version;
    file = load(bytes, older, fmt::format("state.MemoryManagerCheckpointV{}", version), false);
  }
  PINFOLD_LET(const MemoryFile found, std::move(file));
  PINFOLD_LET(auto state, to_state(found, std::nullopt));
  return Inspected<MemoryCheckpoint>{version, found.policy, std::move(state)};
}

std::vector<WrongSum> wrong_memory_sums(std::string_view bytes) {
  return wrong_sums<Version>(
      bytes, Version::kV3, {{Version::kV2, "V2"}, {Version::kV1, "V1"}},
      [&](Version version) { return read(bytes, version, ""); },
      [](const MemoryFile& file, Version version) { return verify(file, version, false); },
      [](const MemoryFile& file, Version version) { return sum_of(file, version); });
}

bool has_machine_state(std::string_view bytes) {
  if (json_syntax_error(bytes)) return false;
  bool found = false;
  JsonReader json(bytes);
  const auto note = [&] {
    found = true;
    json.skip();
  };
  json.structure("", JsonReader::Field{"machineState", note});
  return found;
}

Salvaged<MemoryCheckpoint> salvage_memory(std::string_view json) {
  Salvaged<MemoryCheckpoint> out;
  const MemoryFile v3 = read(json, Version::kV3, "");
  const bool has_data = !v3.data.empty() && !json_syntax_error(v3.data);
  const MemoryFile whole =
      has_data ? read(v3.data, Version::kDataOfV3, "") : read(json, Version::kV2, "");
  out.policy = whole.policy;
  // One by one, so that a value out of range does not affect the others.
  for (const auto& [id, node] : whole.machine_state.value_or(Nodes())) {
    MemoryFile one;
    one.machine_state->emplace(id, node);
    if (auto state = to_state(one, std::nullopt))
      out.state.machine_state.merge(state->machine_state);
  }
  const auto salvage = [&](const std::string& object, const Blocks& blocks) {
    auto read = to_blocks(blocks);
    if (!read) out.lost.push_back({object, read.error().message});
    return read;
  };
  for (const auto& [pod, containers] :
       whole.assignments.value_or(std::map<std::string, Containers>())) {
    if (!containers) continue;
    for (const auto& [name, blocks] : *containers) {
      const ContainerId container{PodUid(pod), name};
      if (auto read = salvage(to_string(container), blocks)) {
        out.state.assignments[container] = *std::move(read);
      }
    }
  }
  for (const auto& [pod, blocks] : whole.pods.value_or(std::map<std::string, Blocks>())) {
    if (auto read = salvage(pod, blocks); read && !read->empty()) {
      out.state.pods[PodUid(pod)] = *std::move(read);
    }
  }
  return out;
}

}  // namespace pinfold::checkpoint
