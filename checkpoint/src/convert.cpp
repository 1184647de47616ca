#include "pinfold/checkpoint/convert.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/other_files.hpp"
#include "pinfold/decide/allocatable.hpp"
#include "pinfold/types/named.hpp"
#include "unknown_keys.hpp"

namespace pinfold::checkpoint {
namespace {

void append(std::vector<Note>& notes, std::vector<Note> more) {
  notes.insert(notes.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

std::vector<Note> assignments_of(const CpuCheckpoint& state) {
  std::vector<Note> notes;
  for (const auto& entry : state.assignments) {
    notes.push_back({to_string(entry.id()), cpus_named(entry.value)});
  }
  return notes;
}

std::vector<Note> assignments_of(const MemoryCheckpoint& state) {
  std::vector<Note> notes;
  for (const auto& entry : state.assignments) {
    for (const MemoryBlock& block : entry.value) {
      notes.push_back(
          {to_string(entry.id()), fmt::format("{} of {} on {}", bytes_named(block.size), block.type,
                                              numa_nodes_named(block.numa_affinity))});
    }
  }
  return notes;
}

/// Notes the baselines that a format before V4 does not have.
void note_baselines(const CpuCheckpoint& state, std::vector<Note>& lost) {
  for (const auto& entry : state.baselines) {
    lost.push_back({to_string(entry.id()),
                    fmt::format("baseline {} (key baselines): the kubelet no longer knows which "
                                "CPUs a resize must not take",
                                entry.value.to_string())});
  }
}

/// Replaces the runtime ids of a V1 file with pods and containers.
Result<CpuCheckpoint> resolve_ids(CpuCheckpoint state, const ContainerIds& ids) {
  const auto* const found_ids = state.assignments.find(PodUid());
  if (found_ids == nullptr) return state;
  const ContainerMap<CpuSet>::OfPod by_id = *found_ids;
  state.assignments.erase(PodUid());
  for (const auto& [id, cpus] : by_id) {
    const auto found = ids.find(id);
    if (found == ids.end()) {
      return fail(
          ErrorCode::kNotFound,
          fmt::format("container id '{}' in a CPU V1 file: not in the list of containers", id));
    }
    state.assignments[found->second] = cpus;
  }
  return state;
}

Result<std::string> encode(const CpuCheckpoint& state, const std::string& policy, int version,
                           const ContainerIds& ids) {
  switch (version) {
    case 1:
      return encode_cpu_v1(state, policy, ids);
    case 2:
      return encode_cpu(state, policy, CpuFormat::kV2);
    case 3:
      return encode_cpu(state, policy, CpuFormat::kV3);
    default:
      return encode_cpu(state, policy, CpuFormat::kV4);
  }
}

std::string encode(const MemoryCheckpoint& state, const std::string& policy, int version) {
  constexpr MemoryFormat kFormats[] = {MemoryFormat::kV1, MemoryFormat::kV2, MemoryFormat::kV3};
  return encode_memory(state, policy, kFormats[version - 1]);
}

/// The target of a conversion.
struct Target {
  Formats formats;
  bool has_pods = false;  ///< keeps pod entries
  KnownBaselines known = {};
};

void add_baselines(CpuCheckpoint& state, const KnownBaselines& known) {
  for (const auto& entry : state.assignments) {
    if (state.baselines.find(entry.id()) != nullptr) continue;
    if (const auto* const cpus = baseline_among(known.baselines, entry.id(), entry.value)) {
      state.baselines[entry.id()] = *cpus;
    } else if (known.is_needed) {
      state.baselines[entry.id()] = entry.value;
    }
  }
}

Result<void> convert_cpu(const std::string& bytes, const Target& to, const ContainerIds& ids,
                         Conversion& out) {
  PINFOLD_LET_WRAP(auto read, inspect_cpu(bytes), fmt::format("'{}'", kCpuFileName));
  PINFOLD_LET(auto state,
              read.version == 1 ? resolve_ids(std::move(read.state), ids) : std::move(read.state));
  if (!to.has_pods) {
    auto older = without_pod_entries(std::move(state));
    state = std::move(older.state);
    append(out.lost, std::move(older.lost));
  }
  if (to.formats.cpu < 4) {
    note_baselines(state, out.lost);
  } else {
    add_baselines(state, to.known);
  }
  PINFOLD_LET(auto written, encode(state, read.policy, to.formats.cpu, ids));
  append(out.kept, assignments_of(state));
  out.files.cpu =
      keep_keys(std::move(written), unknown_keys(bytes), read.version == to.formats.cpu, out.lost);
  return {};
}

Result<void> convert_memory(const std::string& bytes, const Target& to, Conversion& out) {
  PINFOLD_LET_WRAP(auto read, inspect_memory(bytes), fmt::format("'{}'", kMemoryFileName));
  MemoryCheckpoint state = std::move(read.state);
  if (!to.has_pods) {
    auto older = without_pod_entries(std::move(state));
    state = std::move(older.state);
    append(out.lost, std::move(older.lost));
  }
  append(out.kept, assignments_of(state));
  out.files.memory = keep_keys(encode(state, read.policy, to.formats.memory), unknown_keys(bytes),
                               read.version == to.formats.memory, out.lost);
  return {};
}

Result<Conversion> convert(const KubeletFiles& files, const Target& to, const ContainerIds& ids) {
  Conversion out;
  if (files.cpu) {
    PINFOLD_TRY(convert_cpu(*files.cpu, to, ids, out));
  }
  if (files.memory) {
    PINFOLD_TRY(convert_memory(*files.memory, to, out));
  }
  return out;
}

template <class State, class Manager, class Checkpoint>
Result<void> start_from(const Manager& manager, Result<std::optional<Checkpoint>> restored) {
  PINFOLD_LET(auto checkpoint, std::move(restored));
  State state{std::move(checkpoint).value_or(Checkpoint())};
  return manager.start(state);
}

}  // namespace

Result<Formats> parse_formats(std::string_view name) {
  static const std::map<std::string_view, Formats> kNames = {
      {"cpu-v1", {1, 1}},    {"cpu-v2", {2, 1}},    {"cpu-v3", {3, 2}},    {"cpu-v4", {4, 3}},
      {"memory-v1", {2, 1}}, {"memory-v2", {3, 2}}, {"memory-v3", {4, 3}},
  };
  const auto found = kNames.find(name);
  if (found != kNames.end()) return found->second;
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("format '{}': expected cpu-v1 to cpu-v4 or memory-v1 to memory-v3", name));
}

Result<Conversion> convert(const KubeletFiles& files, const Formats& to, const ContainerIds& ids) {
  return convert(files, Target{to, to.cpu >= 3}, ids);
}

Result<Conversion> convert_for(const Kubelet& to, const KubeletFiles& files,
                               const ContainerIds& ids, const KnownBaselines& known) {
  return convert(files, Target{formats_of(to).writes, to.pod_level_gate, known}, ids);
}

tl::expected<void, StartError> would_start_as(const Kubelet& kubelet, const Node& node,
                                              const KubeletFiles& files, const ContainerIds& ids) {
  const Config& config = node.config();
  auto cpu = start_from<CpuState>(node.cpu(),
                                  restore_cpu(files.cpu, config.cpu_manager_policy, kubelet, ids));
  if (!cpu) {
    return tl::unexpected(StartError{StartStage::kCpuManager, std::move(cpu).error().message});
  }
  auto memory = start_from<MemoryState>(
      node.memory(), restore_memory(files.memory, config.memory_manager_policy, kubelet));
  if (!memory) {
    return tl::unexpected(
        StartError{StartStage::kMemoryManager, std::move(memory).error().message});
  }
  return node.check_node_allocatable();
}

std::vector<Note> pods_without_room(const Node& node, const std::vector<PodSpec>& pods) {
  std::vector<Note> notes;
  ActivePods admitted;
  for (const PodSpec& pod : pods) {
    if (const auto shortage = find_shortage(node, admitted, pod)) {
      notes.push_back(
          {pod.uid.value, fmt::format("the kubelet rejects the pod when it starts: {}: {}",
                                      shortage->reason, shortage->message)});
    } else {
      admitted.push_back({pod, {}});
    }
  }
  return notes;
}

}  // namespace pinfold::checkpoint
