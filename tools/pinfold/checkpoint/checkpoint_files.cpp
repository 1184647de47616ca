#include "checkpoint/checkpoint_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "input.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/decide/feature_gates.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/text/words.hpp"

namespace pinfold::tools {
namespace {

using nlohmann::json;

/// Compares keys as the kubelet does.
bool has_key(const std::vector<std::string>& keys, std::string_view name) {
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    return checkpoint::JsonReader::same_field(key, name);
  });
}

/// Distinguishes CPU and memory files by a field if they have it, else by name.
bool looks_like_cpu(const std::string& path, const std::string& bytes) {
  return !has_key(checkpoint::keys_of(bytes), "machineState") &&
         base_name(path).find("memory") == std::string_view::npos;
}

/// A state file of another part of the kubelet.
struct ForeignFile {
  std::string_view name;
  std::string_view marker;  ///< occurs in every such file and in no other; "": nothing does
  std::string_view owner;
};
/// Source: kubelet v1.37 pkg/kubelet: cm/devicemanager, cm/dra/state, allocation, status,
/// nodeshutdown.
constexpr std::array kForeignFiles = {
    ForeignFile{"kubelet_internal_checkpoint", "PodDeviceEntries", "device manager"},
    ForeignFile{"dra_manager_state", "ClaimInfoStateList", "DRA manager"},
    ForeignFile{"allocated_pods_state", "", "allocation manager"},
    ForeignFile{"actuated_pods_state", "", "allocation manager"},
    ForeignFile{"pod_status_manager_state", "allocationEntries", "status manager"},
    ForeignFile{"graceful_node_shutdown_state", "", "shutdown manager"},
};

const ForeignFile* find_foreign_file(const std::string& path, const std::string& bytes) {
  const std::string_view name = base_name(path);
  const auto* const found =
      std::find_if(kForeignFiles.begin(), kForeignFiles.end(), [&](const ForeignFile& one) {
        return name.find(one.name) != std::string_view::npos ||
               (!one.marker.empty() && bytes.find(one.marker) != std::string::npos);
      });
  return found == kForeignFiles.end() ? nullptr : &*found;
}

/// Checks that a whole JSON object has at least one key of a CPU or memory manager's state file.
/// Any other text may be a damaged one.
Result<void> check_keys(const std::string& path, const std::string& bytes, Keyless keyless) {
  constexpr std::array<std::string_view, 5> kOurs = {"policyName", "defaultCpuSet", "machineState",
                                                     "podEntries", "dataChecksum"};
  constexpr std::string_view kExpected =
      "expected the kubelet's cpu_manager_state or memory_manager_state: pass one of these files, "
      "or the directory with them, such as /var/lib/kubelet";
  const auto keys = checkpoint::keys_of(bytes);
  const bool is_ours = std::any_of(kOurs.begin(), kOurs.end(),
                                   [&](std::string_view name) { return has_key(keys, name); });
  const bool is_refused =
      keyless == Keyless::kRefuse && !bytes.empty() && !checkpoint::json_syntax_error(bytes);
  if (is_ours || (keys.empty() && !is_refused)) return {};
  if (const ForeignFile* const foreign = find_foreign_file(path, bytes)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': a state file of the kubelet's {} ({}): {}", input_name(path),
                            foreign->owner, foreign->name, kExpected));
  }
  if (has_key(keys, "entries")) return {};
  constexpr std::size_t kShown = 5;
  std::vector<std::string> names;
  for (const std::string& key : keys) {
    if (names.size() < kShown) names.push_back(fmt::format("'{}'", printable(key)));
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': not a CPU or memory manager's state file: none of its keys is "
                          "policyName, defaultCpuSet, entries or machineState, it has {}{}; {}",
                          input_name(path), names.empty() ? "no key" : "", fmt::join(names, ", "),
                          kExpected));
}

/// Adds the state files of a directory, including the changes in its journal, which the next
/// opening would apply.
Result<void> add_directory(const std::string& path, Keyless keyless,
                           std::vector<StateFile>& files) {
  PINFOLD_LET(const auto fs, checkpoint::open_directory(path));
  PINFOLD_LET_WRAP(auto state, checkpoint::read_files(*fs), fmt::format("'{}'", path));
  if (!state.cpu && !state.memory) {
    return fail(ErrorCode::kNotFound, fmt::format("no state file in '{}'", path));
  }
  for (const bool is_cpu : {true, false}) {
    auto& bytes = is_cpu ? state.cpu : state.memory;
    if (!bytes) continue;
    const auto name = is_cpu ? checkpoint::kCpuFileName : checkpoint::kMemoryFileName;
    const std::string file = std::filesystem::path(path) / name;
    PINFOLD_LET_WRAP(const auto on_disk, fs->read(std::string(name)), fmt::format("'{}'", path));
    if (on_disk != bytes) {
      warn(
          fmt::format("'{}' is older than the state in '{}', which is used here; 'pinfold "
                      "checkpoint repair' brings it up to date",
                      file, checkpoint::kJournalFileName));
    }
    PINFOLD_TRY(check_keys(file, *bytes, keyless));
    files.push_back({file, *std::move(bytes), is_cpu});
  }
  return {};
}

/// Returns the string at a key; "" if there is none.
std::string text_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

Result<std::vector<StateFile>> read_files(const std::vector<std::string>& paths, Keyless keyless) {
  std::vector<StateFile> files;
  for (const std::string& path : paths) {
    if (std::filesystem::is_directory(path)) {
      PINFOLD_TRY(add_directory(path, keyless, files));
      continue;
    }
    PINFOLD_LET(auto bytes, read_input(path));
    PINFOLD_TRY(check_keys(path, bytes, keyless));
    const bool is_cpu = looks_like_cpu(path, bytes);
    files.push_back({path, std::move(bytes), is_cpu});
  }
  return files;
}

Error not_inspected(const StateFile& file, Error error) {
  const auto first = file.bytes.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && file.bytes[first] != '{') {
    error.message = "not a kubelet's state file: expected a JSON object";
  }
  return std::move(error).wrap(fmt::format("'{}'", input_name(file.path)));
}

cli::Option state_files_option(std::vector<std::string>& paths) {
  return {.name = "PATH",
          .target = &paths,
          .help = "State files, or directories with state files",
          .required = true};
}

Result<std::unique_ptr<checkpoint::Fs>> open_files_directory(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return checkpoint::open_directory(path);
  PINFOLD_LET(const auto bytes, read_input(path));
  PINFOLD_TRY(check_keys(path, bytes, Keyless::kRefuse));
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected the directory with the state files: pass '{}'", path,
                          parent.empty() ? "." : parent));
}

Result<checkpoint::Files> read_directory(const std::string& path) {
  PINFOLD_LET(auto fs, open_files_directory(path));
  auto files = checkpoint::read_files(*fs);
  if (files && !files->cpu && !files->memory) {
    return fail(ErrorCode::kNotFound, fmt::format("no state file in '{}'", path));
  }
  return files;
}

Result<agent::AgentState> read_active_pods(const checkpoint::Files& files) {
  agent::AgentState state;
  if (files.cpu) {  // baselines are only those of assignments
    auto cpu = checkpoint::inspect_cpu_unchecked(checkpoint::readable_part(*files.cpu));
    if (cpu) state.node.cpu.assignments = std::move(cpu->state.assignments);
  }
  if (files.pods) {
    PINFOLD_TRY_WRAP(agent::decode_pods(*files.pods, state),
                     fmt::format("'{}'", checkpoint::kPodsFileName));
  }
  return state;
}

std::vector<PodSpec> specs_of(const agent::AgentState& state) {
  std::vector<PodSpec> specs;
  for (const ActivePod& pod : state.node.pods) specs.push_back(pod.spec);
  return specs;
}

Result<checkpoint::ContainerIds> read_container_ids(const std::string& path) {
  checkpoint::ContainerIds ids;
  if (path.empty()) return ids;
  PINFOLD_LET(auto text, read_input(path));
  const json document = json::parse(text, nullptr, false);
  const auto containers = document.is_object() ? document.find("containers") : document.end();
  if (!document.is_object() || containers == document.end() || !containers->is_array()) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: expected a list 'containers', as 'crictl ps -a -o json' prints it", path));
  }
  for (const json& container : *containers) {
    if (!container.is_object()) continue;
    const std::string id = text_at(container, "id");
    const auto labels = container.find("labels");
    if (id.empty() || labels == container.end() || !labels->is_object()) continue;
    ids[id] = {PodUid(text_at(*labels, "io.kubernetes.pod.uid")),
               text_at(*labels, "io.kubernetes.container.name")};
  }
  return ids;
}

cli::Option container_ids_option(std::string& path) {
  return {"--container-ids", &path,
          "Output of 'crictl ps -a -o json'; for CPU V1, which names containers by ID", "FILE"};
}

std::string describe_passed(const Config& config) {
  std::vector<std::string> gates = unknown_gates(config);
  if (gates.empty() || has_openshift_gates(config)) return "passes";
  for (std::string& gate : gates) gate = printable(gate);
  const bool is_one = gates.size() == 1;
  return fmt::format("upstream's kubelet refuses the feature gate{} {}; a vendor's may know {}",
                     is_one ? "" : "s", fmt::join(gates, ", "), is_one ? "it" : "them");
}

void print_notes(const std::string& title, const std::vector<checkpoint::Note>& notes) {
  if (notes.empty()) return;
  std::size_t width = 0;
  for (const auto& note : notes) width = std::max(width, display_width(escaped(note.object)));
  fmt::print("{}:\n", title);
  for (const auto& note : notes) {
    fmt::print("  {}  {}\n", pad_right(escaped(note.object), width), escaped(note.text));
  }
}

}  // namespace pinfold::tools
