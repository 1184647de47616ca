#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "go_value.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/memory/memory_manager.hpp"
#include "restore.hpp"

/// Reads and writes the fields of memory_manager_state.
namespace pinfold::checkpoint::memory_file {

template <class T>
using Nullable = std::optional<T>;
using Ids = std::vector<std::int64_t>;

// The members are named like those of MemoryBlock and NodeMemory, so that one walk writes both.
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

enum class MemoryFileVersion { kV1 = 1, kV2, kV3, kDataOfV3 };

struct MemoryFile {
  std::string policy;
  Nullable<Nodes> machine_state = Nodes();
  Nullable<std::map<std::string, Containers>> assignments = std::map<std::string, Containers>();
  Nullable<std::map<std::string, Blocks>> pods = std::map<std::string, Blocks>();
  std::uint64_t checksum = 0;
  std::string data;  ///< V3: the fields of V2 as text; V3 uses only these
  std::uint64_t data_checksum = 0;
  std::string error;  ///< why it cannot be this version; "" if it can
};

template <class T>
const T& by_pod(const T& entries) {
  return entries;
}
template <class T>
const auto& by_pod(const ContainerMap<T>& assignments) {
  return assignments.by_pod();
}

/// The fields, taken from a MemoryFile or a MemoryCheckpoint.
template <class State>
struct MemoryFields {
  std::string_view policy;
  const State& state;
  bool with_pods;  ///< V1 has no podEntries
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

/// Writes NUMA nodes: integer keys are in numeric order in the dump, but in string order in the
/// file.
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

template <class Out, class Array>
void put_pod(Out& out, const Array& blocks) {
  out.open_struct();
  if (!omitted<Out>(blocks)) {
    out.field("MemoryBlocks", "memoryBlocks", "[]state.Block");
    // A list omitted from the file is read back as null.
    const bool is_null = std::is_same_v<Array, std::vector<MemoryBlock>> && get(blocks)->empty();
    is_null ? out.null() : put_blocks(out, blocks);
  }
  out.close_struct();
}

template <class Out, class State>
void put_fields(Out& out, const MemoryFields<State>& fields) {
  const State& state = fields.state;
  out.field("PolicyName", "policyName", "string");
  out.string(fields.policy);
  out.field("MachineState", "machineState", "state.NUMANodeMap");
  put_nodes(out, state.machine_state);
  const auto& entries = by_pod(state.assignments);
  if (!omitted<Out>(entries)) {
    out.field("Entries", "entries", "state.ContainerMemoryAssignments");
    put_map(out, entries, [&](const auto& containers) {
      put_map(out, containers, [&](const auto& blocks) { put_blocks(out, blocks); });
    });
  }
  if (fields.with_pods && !omitted<Out>(state.pods)) {
    out.field("PodEntries", "podEntries", "state.PodMemoryAssignments");
    put_map(out, state.pods, [&](const auto& blocks) { put_pod(out, blocks); });
  }
}

template <class State>
std::uint32_t fields_checksum(const MemoryFields<State>& fields, std::string_view suffix) {
  GoDump dump;
  dump.type(fmt::format("*state.MemoryManagerCheckpoint{}", suffix));
  dump.open_struct();
  put_fields(dump, fields);
  put_checksum(dump, 0);
  dump.close_struct();
  return checksum(dump);
}

/// Writes the whole file, from a MemoryFile, a MemoryCheckpoint or one whose entries are encoded.
template <class Json, class State>
void put_file(Json& json, const State& state, std::string_view policy, MemoryFormat format) {
  const MemoryFields<State> outside{policy, state,
                                    format == MemoryFormat::kV2};  // V3 is V1 plus `data`
  json.open_struct();
  put_fields(json, outside);
  put_checksum(json, fields_checksum(outside, ""));
  if (format == MemoryFormat::kV3) {
    Json data;
    data.open_struct();
    put_fields(data, MemoryFields<State>{policy, state, true});
    data.close_struct();
    put_data(json, std::move(data).take());
  }
  json.close_struct();
}

/// Returns the whole file, from a MemoryFile or a MemoryCheckpoint.
template <class State>
std::string file_text(const State& state, std::string_view policy, MemoryFormat format) {
  JsonWriter json;
  put_file(json, state, policy, format);
  return std::move(json).take();
}

/// Whether V1 may have the checksum 0 or no checksum.
enum class Zero { kIsWrong, kIsRightInV1 };

/// Reads a file as one version. Domain: `bytes` has no syntax error.
[[nodiscard]] MemoryFile read(std::string_view bytes, MemoryFileVersion version,
                              std::string_view go_type);
/// Computes the checksum of a file as that version. Domain: V1, V2.
[[nodiscard]] std::uint32_t sum_of(const MemoryFile& file, MemoryFileVersion version);
[[nodiscard]] bool has_right_sum(const MemoryFile& file, MemoryFileVersion version, Names names,
                                 Zero zero);
/// Returns the file, or why it is not of that version. Domain: V1, V2.
[[nodiscard]] Result<MemoryFile> checked(MemoryFile file, MemoryFileVersion version, Names names,
                                         Zero zero);
/// Returns "state.MemoryManagerCheckpointV1".
[[nodiscard]] std::string versioned_go_type(MemoryFileVersion version);
/// Reads the fields in `data` of a V3 file.
[[nodiscard]] Result<MemoryFile> load_data_of(const MemoryFile& v3);
[[nodiscard]] Result<std::vector<MemoryBlock>> to_blocks(const Blocks& blocks);
[[nodiscard]] Result<MemoryCheckpoint> to_state(const MemoryFile& file,
                                                std::optional<std::string_view> policy);
/// Returns the file as a kubelet holds it: it copies the state, which turns null slices into empty
/// ones.
[[nodiscard]] MemoryFile copied(MemoryFile file);

}  // namespace pinfold::checkpoint::memory_file
