#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "memory_fields.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "restore.hpp"

namespace pinfold::checkpoint {
namespace memory_file {
namespace {

/// Reads an array. As in Go it replaces an earlier one, but a null element keeps the earlier
/// element.
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

Result<NodeMemory> to_node(const FileNode& node) {
  NodeMemory out;
  // Neither Pinfold nor the kubelet counts further.
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

std::uint32_t suffixed_sum(const MemoryFile& file, MemoryFileVersion version,
                           std::string_view suffix) {
  const MemoryFields<MemoryFile> fields{file.policy, file, version == MemoryFileVersion::kV2};
  return fields_checksum(fields, suffix);
}

}  // namespace

MemoryFile read(std::string_view bytes, MemoryFileVersion version, std::string_view go_type) {
  MemoryFile file;
  JsonReader json(bytes);
  const bool is_v3 = version == MemoryFileVersion::kV3;
  const auto field = [&](std::string_view name, bool known, const auto& read_value) {
    return versioned_field(json, name, known, read_value, is_v3 ? "MemoryManagerCheckpointV1" : "");
  };
  const auto field_of_v3 = [&](std::string_view name, const auto& read_value) {
    return versioned_field(json, name, is_v3, read_value, "");
  };
  const bool has_pods =
      version == MemoryFileVersion::kV2 || version == MemoryFileVersion::kDataOfV3;
  json.structure(
      go_type,  //
      field("policyName", true, [&] { json.read(file.policy); }),
      field("machineState", true, [&] { read_nodes(json, file.machine_state); }),
      field("entries", true, [&] { read_entries(json, file); }),
      field("podEntries", has_pods, [&] { read_pods(json, file); }),
      field("checksum", version != MemoryFileVersion::kDataOfV3,
            [&] { json.read(file.checksum, "checksum.Checksum"); }),
      field_of_v3("data", [&] { json.read(file.data); }),
      field_of_v3("dataChecksum", [&] { json.read(file.data_checksum, "checksum.Checksum"); }));
  file.error = json.error();
  return file;
}

std::uint32_t sum_of(const MemoryFile& file, MemoryFileVersion version) {
  return suffixed_sum(file, version, "");
}

bool has_right_sum(const MemoryFile& file, MemoryFileVersion version, Names names, Zero zero) {
  if (version == MemoryFileVersion::kV1 && zero == Zero::kIsRightInV1 && file.checksum == 0)
    return true;
  if (file.checksum == sum_of(file, version)) return true;
  const auto suffix = fmt::format("V{}", static_cast<int>(version));
  return names == Names::kAlsoVersioned && file.checksum == suffixed_sum(file, version, suffix);
}

Result<MemoryFile> checked(MemoryFile file, MemoryFileVersion version, Names names, Zero zero) {
  if (!file.error.empty()) return corrupt(file.error);
  if (!has_right_sum(file, version, names, zero)) return wrong_checksum();
  return file;
}

std::string versioned_go_type(MemoryFileVersion version) {
  return fmt::format("state.MemoryManagerCheckpointV{}", static_cast<int>(version));
}

Result<MemoryFile> load_data_of(const MemoryFile& v3) {
  return load_data(v3, "memory", [](std::string_view data) {
    return read(data, MemoryFileVersion::kDataOfV3, "state.MemoryManagerCheckpointData");
  });
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

MemoryFile copied(MemoryFile file) {
  const auto no_null = [](auto& value) {
    if (!value) value.emplace();
  };
  no_null(file.machine_state);
  no_null(file.assignments);
  no_null(file.pods);
  for (auto& [id, node] : *file.machine_state) {
    if (node) no_null(node->cells);
  }
  for (auto& [pod, containers] : *file.assignments) {
    no_null(containers);
    for (auto& [name, blocks] : *containers) no_null(blocks);
  }
  return file;
}

}  // namespace memory_file

std::string encode_memory(const MemoryCheckpoint& state, std::string_view policy,
                          MemoryFormat format) {
  return memory_file::file_text(state, policy, format);
}

std::string encode_memory(const MemoryCheckpoint& state, std::string_view policy,
                          bool pod_level_gate) {
  return encode_memory(state, policy, pod_level_gate ? MemoryFormat::kV2 : MemoryFormat::kV1);
}

}  // namespace pinfold::checkpoint
