#include "pinfold/checkpoint/repair.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "repair_states.hpp"
#include "salvage.hpp"

namespace pinfold::checkpoint {
namespace {

/// What repair() needs to know about one kind of state file.
struct CpuFileKind {
  using State = CpuCheckpoint;
  static constexpr std::string_view kName = kCpuFileName;

  static Result<Inspected<State>> inspect(std::string_view bytes) { return inspect_cpu(bytes); }
  static Salvaged<State> salvage(std::string_view json, const ContainerIds& ids) {
    return salvage_cpu(json, ids);
  }
  static const std::string& policy(const Node& node) { return node.config().cpu_manager_policy; }
  static Result<std::optional<State>> restore(const Node& node, const std::string& bytes,
                                              bool newest, const ContainerIds& ids) {
    const bool gate = node.gates().pod_level_resource_managers;
    return newest ? restore_cpu_v4(bytes, policy(node), gate)
                  : restore_cpu(bytes, policy(node), gate, ids);
  }
  static std::string encode(const Node& node, const State& state, bool newest) {
    if (newest) return encode_cpu(state, policy(node), CpuFormat::kV4);
    return encode_cpu(state, policy(node), node.gates().pod_level_resource_managers);
  }
};

struct MemoryFileKind {
  using State = MemoryCheckpoint;
  static constexpr std::string_view kName = kMemoryFileName;

  static Result<Inspected<State>> inspect(std::string_view bytes) { return inspect_memory(bytes); }
  static Salvaged<State> salvage(std::string_view json, const ContainerIds& /*ids*/) {
    return salvage_memory(json);
  }
  static const std::string& policy(const Node& node) { return node.config().memory_manager_policy; }
  static Result<std::optional<State>> restore(const Node& node, const std::string& bytes,
                                              bool newest, const ContainerIds& /*ids*/) {
    const bool gate = node.gates().pod_level_resource_managers;
    return newest ? restore_memory_v3(bytes, policy(node), gate)
                  : restore_memory(bytes, policy(node), gate);
  }
  static std::string encode(const Node& node, const State& state, bool newest) {
    if (newest) return encode_memory(state, policy(node), MemoryFormat::kV3);
    return encode_memory(state, policy(node), node.gates().pod_level_resource_managers);
  }
};

/// A sound orphan of the same kind, if the file itself cannot be read.
template <class Kind>
const std::string* find_orphan(const std::string& bytes, const Orphans& orphans) {
  if (Kind::inspect(bytes)) return nullptr;
  for (const auto& [name, content] : orphans) {
    if (Kind::inspect(content)) return &name;
  }
  return nullptr;
}

/// The part of a text that can be read, as one JSON value.
std::string readable(const std::string& bytes) {
  return json_syntax_error(bytes) ? close_json(bytes) : bytes;
}

/// Whether a file claims to be CPU V4 or memory V3.
template <class Kind>
bool is_newest(const std::optional<std::string>& file) {
  return file && Kind::salvage(readable(*file), {}).is_newest;
}

template <class Kind>
void repair_file(const Node& node, bool newest, std::optional<std::string>& file,
                 const ContainerIds& ids, const Orphans& orphans, Notes& notes) {
  if (!file) return;
  std::string bytes = *file;
  const std::string name(Kind::kName);
  if (const std::string* const orphan = find_orphan<Kind>(bytes, orphans)) {
    bytes = orphans.at(*orphan);
    notes.done.push_back(
        {name, fmt::format("cannot be read: replaced by the sound temporary file '{}'", *orphan)});
  }
  const auto syntax = json_syntax_error(bytes);
  auto salvaged = Kind::salvage(readable(bytes), ids);
  if (syntax) {
    notes.done.push_back(
        {name, fmt::format("is torn ({}): read up to the last complete value", *syntax)});
  } else if (const auto sound = Kind::inspect(bytes); !sound) {
    notes.done.push_back(
        {name, fmt::format("has an error ({}): read nevertheless", sound.error().message)});
  }
  if (salvaged.policy != Kind::policy(node)) {
    notes.done.push_back({name, fmt::format("policy '{}' differs from the configured '{}': changed",
                                            salvaged.policy, Kind::policy(node))});
  }
  notes.lost.insert(notes.lost.end(), salvaged.lost.begin(), salvaged.lost.end());
  repair_state(node, salvaged.state, notes);
  if (notes.done.empty() && notes.lost.empty()) {
    const auto restored = Kind::restore(node, *file, newest, ids);
    if (restored && **restored == salvaged.state) return;
    notes.done.push_back({name, "has a version that this kubelet does not read: converted"});
  }
  file = Kind::encode(node, salvaged.state, newest);
}

}  // namespace

Repaired repair(const Node& node, const KubeletFiles& files, const ContainerIds& ids,
                const Orphans& orphans) {
  Repaired out;
  out.files = files;
  Notes cpu;
  Notes memory;
  const bool newest = is_newest<CpuFileKind>(files.cpu) || is_newest<MemoryFileKind>(files.memory);
  repair_file<CpuFileKind>(node, newest, out.files.cpu, ids, orphans, cpu);
  repair_file<MemoryFileKind>(node, newest, out.files.memory, ids, orphans, memory);
  const bool gate = node.gates().pod_level_resource_managers;
  out.formats = newest ? Formats{4, 3} : gate ? Formats{3, 2} : Formats{2, 1};
  for (Notes* const notes : {&cpu, &memory}) {
    out.done.insert(out.done.end(), notes->done.begin(), notes->done.end());
    out.lost.insert(out.lost.end(), notes->lost.begin(), notes->lost.end());
  }
  return out;
}

bool is_orphan_name(std::string_view name) {
  if (!name.starts_with('.') || name.size() < 2) return false;
  name.remove_prefix(1);
  if (name.starts_with(kCpuFileName) || name.starts_with(kMemoryFileName)) return true;
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace pinfold::checkpoint
