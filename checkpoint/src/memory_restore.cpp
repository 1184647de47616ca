#include <algorithm>

#include "memory_fields.hpp"
#include "pinfold/checkpoint/kubelet.hpp"
#include "pinfold/memory/count_again.hpp"
#include "restore.hpp"

namespace pinfold::checkpoint {
namespace memory_file {
namespace {

/// Returns the Go type of a version; the newest one that a kubelet knows has no version in its
/// name.
std::string go_type_of(const Kubelet& kubelet, MemoryFileVersion version) {
  const MemoryFileVersion newest = kubelet.minor >= 37   ? MemoryFileVersion::kV3
                                   : kubelet.minor == 36 ? MemoryFileVersion::kV2
                                                         : MemoryFileVersion::kV1;
  return version == newest ? "state.MemoryManagerCheckpoint" : versioned_go_type(version);
}

Names names_of(const Kubelet& kubelet, MemoryFileVersion version) {
  const bool also_versioned =
      version == MemoryFileVersion::kV1 && kubelet.minor == 36 && !kubelet.pod_level_gate;
  return also_versioned ? Names::kAlsoVersioned : Names::kPlain;
}

/// Tries one version after the other; the error is that of the last.
Result<MemoryFile> load_as(const Kubelet& kubelet, std::string_view bytes) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  const Zero zero = kubelet.minor >= 36 ? Zero::kIsRightInV1 : Zero::kIsWrong;
  Result<MemoryFile> file;
  decltype(MemoryFile::pods) failed_pods;  // from the failed attempt to read V2
  for (const int number : formats_of(kubelet).reads_memory) {
    const auto version = static_cast<MemoryFileVersion>(number);
    const MemoryFile found = read(bytes, version, go_type_of(kubelet, version));
    file = version == MemoryFileVersion::kV3
               ? load_data_of(found)
               : checked(found, version, names_of(kubelet, version), zero);
    if (!file && version == MemoryFileVersion::kV3 && is_newest(found)) {
      return fail(std::move(file).error().wrap("could not load v3 checkpoint"));
    }
    if (!file && version == MemoryFileVersion::kV2) failed_pods = found.pods;
    if (!file) continue;
    // Kubelet 1.36 reuses the object from its failed attempt.
    if (kubelet.minor == 36 && version == MemoryFileVersion::kV1)
      file->pods = std::move(failed_pods);
    if (!kubelet.pod_level_gate) file->pods.reset();
    break;
  }
  return file;
}

Result<MemoryCheckpoint> restored(const Result<MemoryFile>& file,
                                  std::optional<std::string_view> policy,
                                  std::string_view state_dir) {
  auto state = file.and_then([&](const MemoryFile& read) { return to_state(read, policy); });
  if (!state) {
    return drain_and_delete(std::move(state).error(), "memory", state_dir, kMemoryFileName);
  }
  return state;
}

/// Returns true if a table is null: a nil pointer that the kubelet dereferences when it copies the
/// state.
bool crashes_on(const MemoryFile& file) {
  const Nodes nodes = file.machine_state.value_or(Nodes());
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
    if (!node.second || !node.second->tables) return false;
    const auto& tables = *node.second->tables;
    return std::any_of(tables.begin(), tables.end(), [](const auto& t) { return !t.second; });
  });
}

std::string json_of(const MemoryFile& file) {
  JsonWriter json;
  json.open_struct();
  json.field("", "machineState", "");
  put_nodes(json, file.machine_state);
  json.field("", "entries", "");
  put_map(json, file.assignments, [&](const Containers& containers) {
    put_map(json, containers, [&](const Blocks& blocks) { put_blocks(json, blocks); });
  });
  json.field("", "podEntries", "");
  put_map(json, file.pods, [&](const Blocks& blocks) { put_pod(json, blocks); });
  json.close_struct();
  return std::move(json).take();
}

}  // namespace
}  // namespace memory_file

Result<std::optional<MemoryCheckpoint>> restore_memory(std::optional<std::string_view> bytes,
                                                       std::optional<std::string_view> policy,
                                                       const Kubelet& kubelet,
                                                       std::string_view state_dir) {
  if (!bytes) return std::optional<MemoryCheckpoint>();
  return memory_file::restored(memory_file::load_as(kubelet, *bytes), policy, state_dir);
}

Result<std::optional<MemoryCheckpoint>> restore_memory(std::optional<std::string_view> bytes,
                                                       std::optional<std::string_view> policy,
                                                       bool pod_level_gate,
                                                       std::string_view state_dir) {
  return restore_memory(bytes, policy, Kubelet{36, pod_level_gate}, state_dir);
}

Reading<MemoryCheckpoint> read_memory(std::string_view bytes, const Kubelet& kubelet,
                                      std::optional<std::string_view> policy) {
  Reading<MemoryCheckpoint> out;
  const auto file = memory_file::load_as(kubelet, bytes);
  auto state = memory_file::restored(file, policy, kKubeletDir);
  if (!state) {
    out.error = std::move(state).error().message;
    return out;
  }
  if (memory_file::crashes_on(*file)) {
    out.is_crash = true;
    out.error = "runtime error: invalid memory address or nil pointer dereference";
    return out;
  }
  out.policy = file->policy;
  out.state = *std::move(state);
  out.json = memory_file::json_of(memory_file::copied(*file));
  if (const auto fits = check_machine_state(out.state, kubelet.pod_level_gate);
      !fits && out.policy == "Static") {
    out.start_error = fits.error().message;
  }
  if (!policy && out.start_error.empty()) {
    out.start_error = find_policy_error(out.policy, {"None", "Static", "BestEffort"});
  }
  return out;
}

}  // namespace pinfold::checkpoint
