#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "go_value.hpp"
#include "pinfold/checkpoint/go_dump.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "restore.hpp"

namespace pinfold::checkpoint {
namespace {

template <class T>
using Nullable = std::optional<T>;
using Ids = std::vector<std::int64_t>;

// The members have the names of MemoryBlock and NodeMemory, so that one walk writes both.
struct FileBlock {
  Nullable<Ids> numa_affinity;
  std::string type;
  std::uint64_t size = 0;
};
struct FileNode {
  std::int64_t number_of_assignments = 0;
  Nullable<std::map<std::string, Nullable<MemoryTable>>> tables;
  Nullable<Ids> cells;
};
using Blocks = Nullable<std::vector<FileBlock>>;
using Containers = Nullable<std::map<std::string, Blocks>>;
using Nodes = std::map<std::int64_t, Nullable<FileNode>>;

struct MemoryFile {
  std::string policy;
  Nullable<Nodes> machine_state = Nodes();
  Nullable<std::map<std::string, Containers>> assignments = std::map<std::string, Containers>();
  Nullable<std::map<std::string, Blocks>> pods = std::map<std::string, Blocks>();
  std::uint64_t checksum = 0;
};

/// Out of a MemoryFile or a MemoryState.
template <class State>
struct Fields {
  std::string_view policy;
  const State& state;
  bool with_pods;  ///< V2 has podEntries, V1 has not
};

template <class Out>
void put_table(Out& out, const MemoryTable& table) {
  out.pointer();
  out.open_struct();
  out.field("TotalMemSize", "total", "uint64");
  out.number(table.total);
  out.field("SystemReserved", "systemReserved", "uint64");
  out.number(table.system_reserved);
  out.field("Allocatable", "allocatable", "uint64");
  out.number(table.allocatable);
  out.field("Reserved", "reserved", "uint64");
  out.number(table.reserved);
  out.field("Free", "free", "uint64");
  out.number(table.free);
  out.close_struct();
}

template <class Out, class Array>
void put_ids(Out& out, const Array& ids) {
  put_array(out, ids, [&](std::int64_t id) { out.number(id); });
}

template <class Out, class Node>
void put_node(Out& out, const Node& node) {
  out.pointer();
  out.open_struct();
  out.field("NumberOfAssignments", "numberOfAssignments", "int");
  out.number(std::int64_t{node.number_of_assignments});
  out.field("MemoryMap", "memoryMap", "map[v1.ResourceName]*state.MemoryTable");
  put_map(out, node.tables, [&](const auto& table) {
    const MemoryTable* const value = get(table);
    value == nullptr ? out.null() : put_table(out, *value);
  });
  out.field("Cells", "cells", "[]int");
  put_ids(out, node.cells);
  out.close_struct();
}

/// Integer keys stand in numeric order in the dump, and in the order of their texts in the file.
template <class Out, class Map>
void put_nodes(Out& out, const Map& nodes) {
  const auto* const values = get(nodes);
  if (values == nullptr) return out.null();
  using Node = typename std::remove_cvref_t<decltype(*values)>::mapped_type;
  std::vector<std::pair<std::string, const Node*>> order;
  for (const auto& [id, node] : *values) order.emplace_back(std::to_string(id), &node);
  if (Out::kIsJson) std::sort(order.begin(), order.end());
  out.open_map();
  for (const auto& [id, node] : order) {
    out.key(id);
    const auto* const value = get(*node);
    value == nullptr ? out.null() : put_node(out, *value);
  }
  out.close_map();
}

template <class Out, class Array>
void put_blocks(Out& out, const Array& blocks) {
  put_array(out, blocks, [&](const auto& block) {
    out.open_struct();
    out.field("NUMAAffinity", "numaAffinity", "[]int");
    put_ids(out, block.numa_affinity);
    out.field("Type", "type", "v1.ResourceName");
    out.string(block.type);
    out.field("Size", "size", "uint64");
    out.number(block.size);
    out.close_struct();
  });
}

template <class Out, class State>
void put_fields(Out& out, const Fields<State>& fields, std::uint64_t checksum) {
  const State& state = fields.state;
  out.open_struct();
  out.field("PolicyName", "policyName", "string");
  out.string(fields.policy);
  out.field("MachineState", "machineState", "state.NUMANodeMap");
  put_nodes(out, state.machine_state);
  if (!omitted<Out>(state.assignments)) {
    out.field("Entries", "entries", "state.ContainerMemoryAssignments");
    put_map(out, state.assignments, [&](const auto& containers) {
      put_map(out, containers, [&](const auto& blocks) { put_blocks(out, blocks); });
    });
  }
  if (fields.with_pods && !omitted<Out>(state.pods)) {
    out.field("PodEntries", "podEntries", "state.PodMemoryAssignments");
    put_map(out, state.pods, [&](const auto& blocks) {
      out.open_struct();
      if (!omitted<Out>(blocks)) {
        out.field("MemoryBlocks", "memoryBlocks", "[]state.Block");
        put_blocks(out, blocks);
      }
      out.close_struct();
    });
  }
  out.field("Checksum", "checksum", "checksum.Checksum");
  out.number(checksum);
  out.close_struct();
}

template <class State>
std::uint32_t fields_checksum(const Fields<State>& fields, std::string_view suffix) {
  GoDump dump;
  dump.type(fmt::format("*state.MemoryManagerCheckpoint{}", suffix));
  put_fields(dump, fields, 0);
  return checksum(dump);
}

enum class Version { kV1, kV2 };

bool verify(const MemoryFile& file, Version version, bool pod_level_gate) {
  const Fields<MemoryFile> fields{file.policy, file, version == Version::kV2};
  if (version == Version::kV1 && file.checksum == 0) return true;
  if (file.checksum == fields_checksum(fields, "")) return true;
  // Kubelets before V2 existed in this form hashed the name of the type as it was then.
  return version == Version::kV1 && !pod_level_gate &&
         file.checksum == fields_checksum(fields, "V1");
}

/// A nullable container that is read into what was there before, as Go does for a key that is
/// named twice. Returns false if there was a null.
template <class Container>
bool begin(JsonReader& json, Nullable<Container>& out) {
  if (json.null()) {
    out.reset();
    return false;
  }
  if (!out) out.emplace();
  return true;
}

/// An array replaces what was there, except that a null leaves the element at its place alone.
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

Result<MemoryFile> load(std::string_view bytes, Version version, bool pod_level_gate) {
  MemoryFile file;
  JsonReader json(bytes);
  const auto read_policy = [&] { json.read(file.policy); };
  const auto read_machine = [&] { read_nodes(json, file.machine_state); };
  const auto read_entries = [&] {
    if (!begin(json, file.assignments)) return;
    json.map("state.ContainerMemoryAssignments", [&](const std::string& pod) {
      Containers& containers = (*file.assignments)[pod];
      containers.reset();
      read_containers(json, containers);
    });
  };
  const auto read_pods = [&] {
    if (version == Version::kV1) return json.skip();
    if (!begin(json, file.pods)) return;
    json.map("state.PodMemoryAssignments", [&](const std::string& pod) {
      Blocks& blocks = (*file.pods)[pod];
      blocks.reset();
      const auto read = [&] { read_blocks(json, blocks); };
      json.structure("state.PodEntry", JsonReader::Field{"memoryBlocks", read});
    });
  };
  const auto read_checksum = [&] { json.read(file.checksum, "checksum.Checksum"); };
  json.structure(
      version == Version::kV1 ? "state.MemoryManagerCheckpointV1" : "state.MemoryManagerCheckpoint",
      JsonReader::Field{"policyName", read_policy}, JsonReader::Field{"machineState", read_machine},
      JsonReader::Field{"entries", read_entries}, JsonReader::Field{"podEntries", read_pods},
      JsonReader::Field{"checksum", read_checksum});
  if (!json.error().empty()) return corrupt(json.error());
  if (!verify(file, version, pod_level_gate)) return wrong_checksum();
  return file;
}

Result<MemoryFile> load_newest(std::string_view bytes, bool pod_level_gate) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  if (pod_level_gate) {
    auto v2 = load(bytes, Version::kV2, pod_level_gate);
    if (v2) return v2;
  }
  return load(bytes, Version::kV1, pod_level_gate);
}

Result<std::int32_t> to_id(std::int64_t id) {
  if (id < 0 || id > std::numeric_limits<std::int32_t>::max()) {
    return corrupt(fmt::format("NUMA node id {} is out of range", id));
  }
  return static_cast<std::int32_t>(id);
}

Result<std::vector<std::int32_t>> to_ids(const Nullable<Ids>& ids) {
  std::vector<std::int32_t> out;
  if (!ids) return out;
  for (const std::int64_t id : *ids) {
    const auto narrow = to_id(id);
    if (!narrow) return fail(narrow.error());
    out.push_back(*narrow);
  }
  return out;
}

Result<std::vector<MemoryBlock>> to_blocks(const Blocks& blocks) {
  std::vector<MemoryBlock> out;
  if (!blocks) return out;
  for (const FileBlock& block : *blocks) {
    auto affinity = to_ids(block.numa_affinity);
    if (!affinity) return fail(std::move(affinity).error());
    out.push_back({*std::move(affinity), block.type, block.size});
  }
  return out;
}

Result<NodeMemory> to_node(const FileNode& node) {
  NodeMemory out;
  // A file of ours or of the kubelet never counts so far.
  out.number_of_assignments = static_cast<int>(
      std::clamp<std::int64_t>(node.number_of_assignments, std::numeric_limits<int>::min(),
                               std::numeric_limits<int>::max()));
  auto cells = to_ids(node.cells);
  if (!cells) return fail(std::move(cells).error());
  out.cells = *std::move(cells);
  if (!node.tables) return out;
  for (const auto& [resource, table] : *node.tables) {
    out.tables[resource] = table.value_or(MemoryTable());
  }
  return out;
}

Result<MemoryState> to_state(const MemoryFile& file, std::string_view policy) {
  if (file.policy != policy) return other_policy("[memorymanager] ", policy, file.policy);
  MemoryState state;
  if (file.machine_state) {
    for (const auto& [wide_id, node] : *file.machine_state) {
      const auto id = to_id(wide_id);
      if (!id) return fail(id.error());
      auto memory = to_node(node.value_or(FileNode()));
      if (!memory) return fail(std::move(memory).error());
      state.machine_state[*id] = *std::move(memory);
    }
  }
  if (file.assignments) {
    for (const auto& [pod, containers] : *file.assignments) {
      auto& assigned = state.assignments[pod];
      if (!containers) continue;
      for (const auto& [container, file_blocks] : *containers) {
        auto blocks = to_blocks(file_blocks);
        if (!blocks) return fail(std::move(blocks).error());
        assigned[container] = *std::move(blocks);
      }
    }
  }
  if (file.pods) {
    for (const auto& [pod, file_blocks] : *file.pods) {
      auto blocks = to_blocks(file_blocks);
      if (!blocks) return fail(std::move(blocks).error());
      state.pods[pod] = *std::move(blocks);
    }
  }
  return state;
}

}  // namespace

std::string encode_memory(const MemoryState& state, std::string_view policy, bool pod_level_gate) {
  const Fields<MemoryState> fields{policy, state, pod_level_gate};
  JsonWriter json;
  put_fields(json, fields, fields_checksum(fields, ""));
  return std::move(json).take();
}

Result<std::optional<MemoryState>> restore_memory(std::optional<std::string_view> bytes,
                                                  std::string_view policy, bool pod_level_gate,
                                                  std::string_view state_dir) {
  if (!bytes) return std::optional<MemoryState>();
  auto state = load_newest(*bytes, pod_level_gate).and_then([&](const MemoryFile& file) {
    return to_state(file, policy);
  });
  if (!state) {
    return drain_and_delete(std::move(state).error(), "memory", state_dir, kMemoryFileName);
  }
  return std::optional<MemoryState>(*std::move(state));
}

}  // namespace pinfold::checkpoint
