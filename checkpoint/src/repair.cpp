// How it works. For each of the two files repair() goes through four stages:
//  1. Read: close_json() cuts a torn text after its last complete value, and salvage() reads that,
//     ignoring every error. If the file is damaged and a copy of it (a temporary file, a journal)
//     has every assignment that could be read, the copy is used instead.
//  2. Restore (damaged files only): assignments that could not be read are taken from the cpusets
//     of running containers (repair_running.cpp). Others that .pinfold_pods or the other state file
//     names are restored if exactly one is missing and the free CPUs or the counters of the NUMA
//     nodes leave one possibility (repair_missing.cpp). Baselines, the CPUs that a resize must not
//     take, come from .pinfold_pods; unknown ones are all CPUs.
//  3. Repair: repair_state() changes the state until the manager of the kubelet would start from it
//     (repair_cpu.cpp, repair_memory.cpp).
//  4. Write: only if something changed or the kubelet would not read the file completely.
//
// Invariants: both files are read before either is changed, so each is compared with the other as
// it was found. Every change is a Note in `done`, everything that was given up a Note in `lost`. A
// file without notes that the kubelet reads completely keeps its bytes. Unknown keys survive if the
// format does.
//
// Cost: reading and writing are linear in the size of the files and their copies; comparing their
// entries takes at most O(entries * active pods).

#include "pinfold/checkpoint/repair.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "pinfold/checkpoint/files.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/kubelet.hpp"
#include "pinfold/memory/count_again.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/kubelet_words.hpp"
#include "repair_requests.hpp"
#include "repair_running.hpp"
#include "repair_states.hpp"
#include "salvage.hpp"
#include "unknown_keys.hpp"

namespace pinfold::checkpoint {
namespace {

/// Returns whether the kubelet of `node` writes baselines: CPU V4 has them.
bool file_has_baselines(const Node& node) { return formats_of(kubelet_of(node)).writes.cpu >= 4; }

void add_notes(std::vector<Note>& all, const std::vector<Note>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// What repair() needs to know about a kind of state file.
struct CpuFileKind {
  using State = CpuCheckpoint;
  static constexpr std::string_view kName = kCpuFileName;

  static Result<Inspected<State>> inspect(std::string_view bytes) { return inspect_cpu(bytes); }
  static Result<Inspected<State>> inspect_unchecked(std::string_view bytes) {
    return inspect_cpu_unchecked(bytes);
  }
  static Salvaged<State> salvage(std::string_view json, const ContainerIds& ids) {
    return salvage_cpu(json, ids);
  }
  static std::vector<WrongSum> wrong_sums(std::string_view bytes) { return wrong_cpu_sums(bytes); }
  static const std::string& policy(const Node& node) { return node.config().cpu_manager_policy; }
  /// Returns whether resources belong to no assignment that could be read.
  static bool has_unowned(const Node& node, const State& state) {
    return node.cpu().is_static() && !in_no_set(node, state).empty();
  }
  static Result<std::optional<State>> restore(const Node& node, const std::string& bytes,
                                              const ContainerIds& ids) {
    return restore_cpu(bytes, policy(node), reader_of(node, bytes), ids);
  }
  static std::string encode(const Node& node, const State& state) {
    return write_cpu(state, policy(node), kubelet_of(node));
  }
  /// Removes what the kubelet of `node` ignores: before CPU V4 the baselines.
  static State used_by(const Node& node, State state) {
    if (!file_has_baselines(node)) state.baselines = {};
    return state;
  }
};

struct MemoryFileKind {
  using State = MemoryCheckpoint;
  static constexpr std::string_view kName = kMemoryFileName;

  static Result<Inspected<State>> inspect(std::string_view bytes) { return inspect_memory(bytes); }
  static Result<Inspected<State>> inspect_unchecked(std::string_view bytes) {
    return inspect_memory_unchecked(bytes);
  }
  static Salvaged<State> salvage(std::string_view json, const ContainerIds& /*ids*/) {
    return salvage_memory(json);
  }
  static std::vector<WrongSum> wrong_sums(std::string_view bytes) {
    return wrong_memory_sums(bytes);
  }
  static const std::string& policy(const Node& node) { return node.config().memory_manager_policy; }
  static bool has_unowned(const Node& node, const State& state) {
    return node.memory().is_static() &&
           !check_machine_state(state, node.gates().pod_level_resource_managers);
  }
  static Result<std::optional<State>> restore(const Node& node, const std::string& bytes,
                                              const ContainerIds& /*ids*/) {
    return restore_memory(bytes, policy(node), reader_of(node, bytes));
  }
  static std::string encode(const Node& node, const State& state) {
    return write_memory(state, policy(node), kubelet_of(node));
  }
  static State used_by(const Node& /*node*/, State state) { return state; }
};

/// Finds a valid copy with every assignment of `state`, the readable part of the file.
template <class Kind>
const std::string* find_copy(const typename Kind::State& state, const OtherFiles& others) {
  for (const auto& [name, content] : others.copies) {
    const auto copy = Kind::inspect(content);
    const auto has = [&](const auto& entry) {
      const auto* const value = copy->state.assignments.find(entry.id());
      return value != nullptr && *value == entry.value;
    };
    const auto& known = state.assignments;
    if (copy && std::all_of(known.begin(), known.end(), has)) return &name;
  }
  return nullptr;
}

/// A state file that is being repaired.
template <class Kind>
struct FileInRepair {
  std::string bytes;
  Salvaged<typename Kind::State> salvaged;
  bool is_damaged = false;
  bool is_replaced = false;  ///< with a copy
  Notes notes;
};

/// Handles a file that cannot be read as it is: uses a copy, or else the readable part.
template <class Kind>
void read_damaged(FileInRepair<Kind>& file, const std::string& error, const ContainerIds& ids,
                  const OtherFiles& others) {
  file.is_damaged = true;
  std::string what = fmt::format("has an error: {}; read anyway", in_plain_words(error));
  const std::string problem = file.bytes.empty() ? "is missing or empty" : in_plain_words(error);
  if (const auto* const copy = find_copy<Kind>(file.salvaged.state, others)) {
    file.is_replaced = true;
    file.salvaged = Kind::salvage(others.copies.at(*copy), ids);
    what =
        fmt::format("cannot be read ({}): replaced by '{}', which has everything that can be read",
                    problem, *copy);
  } else if (file.bytes.empty()) {
    what = fmt::format("{}: created anew", problem);
  } else if (const auto text = without_byte_order_mark(file.bytes); text != file.bytes) {
    what = fmt::format("begins with a byte order mark, which kubelets refuse: removed{}",
                       json_syntax_error(text) ? "; torn: read up to the last complete value" : "");
  } else if (json_syntax_error(file.bytes)) {
    what = fmt::format("is torn: {}; read up to the last complete value", in_plain_words(error));
  }
  file.notes.done.push_back({std::string(Kind::kName), std::move(what)});
}

/// Returns why the assignments of a file without any error may be under keys that are not read: it
/// is another program's, or a state that a script wrapped. "" if they are not.
template <class Kind>
std::string unread_part(const Node& node, const FileInRepair<Kind>& file) {
  constexpr std::size_t kShown = 5;
  const UnknownKeys unknown = unknown_keys(file.bytes);
  std::vector<std::string> names;
  for (const auto* const keys : {&unknown.outside, &unknown.in_data}) {
    for (const auto& [key, value] : *keys) {
      if (names.size() < kShown) names.push_back(fmt::format("'{}'", printable(key)));
    }
  }
  const std::string_view separator = names.empty() ? "" : ", but the unknown key ";
  if (file.salvaged.policy.empty()) {
    return fmt::format("no policyName{}{}", separator, fmt::join(names, ", "));
  }
  if (names.empty() || !Kind::has_unowned(node, file.salvaged.state)) return "";
  return fmt::format("the unknown key {} may have assignments", fmt::join(names, ", "));
}

template <class Kind>
FileInRepair<Kind> read_file(const Node& node, const std::string& bytes, const ContainerIds& ids,
                             const OtherFiles& others) {
  FileInRepair<Kind> file{bytes, Kind::salvage(readable_part(bytes), ids), false, false, {}};
  if (const auto sound = Kind::inspect(bytes); !sound) {
    read_damaged(file, sound.error().message, ids, others);
  } else if (const auto sums = Kind::wrong_sums(bytes); !sums.empty()) {  // of `data`
    read_damaged(file, describe(sums).front(), ids, others);
  }
  if (file.is_damaged) {
    // Its unreadable part counts as lost.
  } else if (const std::string unread = unread_part(node, file); !unread.empty()) {
    read_damaged(file, unread, ids, others);
  }
  if (!file.salvaged.policy.empty() && file.salvaged.policy != Kind::policy(node)) {
    file.notes.done.push_back({std::string(Kind::kName),
                               fmt::format("policy '{}' differs from the configured '{}': changed",
                                           file.salvaged.policy, Kind::policy(node))});
  }
  add_notes(file.notes.lost, file.salvaged.lost);
  return file;
}

/// Restores the unreadable part of a file, and notes what is lost.
template <class State, class Other>
void restore(const Node& node, const Damage& damage, const Other& other, State& state,
             Notes& notes) {
  const auto doubts = restore_running(node, damage, other, state, notes);
  restore_missing(node, damage, other, state, notes);
  for (const Doubt& doubt : doubts) {
    if (state.assignments.contains(doubt.id)) continue;
    notes.lost.push_back({object_of(doubt.id), doubt.text});
  }
}

/// Completes the baselines of a damaged file. Those of a format that has none are in .pinfold_pods,
/// and stay there.
void restore_baselines(const Node& node, const OtherFiles& others,
                       FileInRepair<CpuFileKind>& file) {
  CpuCheckpoint& state = file.salvaged.state;
  if (!file_has_baselines(node)) {
    state.baselines.erase_if([&](const auto& entry) {
      const CpuSet* const known = others.baselines.find(entry.id());
      return known != nullptr && *known == entry.value;
    });
  }
  // A kubelet with the feature gate stores those of all containers, others those that they read.
  const bool has_all = file_has_baselines(node) && node.cpu().stores_baselines();
  const bool is_rewritten = file.is_damaged || (has_all && !file.notes.done.empty());
  if (!is_rewritten) return;
  const bool is_torn =
      !file.is_replaced && json_syntax_error(without_byte_order_mark(file.bytes)).has_value();
  const bool may_have = file.is_damaged && file.salvaged.may_have_baselines;
  const bool is_loss = has_all && (may_have || is_torn);
  for (const auto& entry : state.assignments) {
    const CpuSet* const known = baseline_among(others.baselines, entry.id(), entry.value);
    const CpuSet* const read = state.baselines.find(entry.id());
    if (read != nullptr && (known == nullptr || *known == *read)) continue;
    if (known != nullptr) {
      if (!file_has_baselines(node)) continue;
      state.baselines[entry.id()] = *known;
      file.notes.done.push_back(
          {to_string(entry.id()),
           fmt::format("baseline {}: taken from '{}'", known->to_string(), kPodsFileName)});
      continue;
    }
    if (has_all) state.baselines[entry.id()] = entry.value;
    if (is_loss || may_have) {
      (is_loss ? file.notes.lost : file.notes.done)
          .push_back(
              {to_string(entry.id()), "its baseline cannot be read: a resize keeps all its CPUs"});
    }
  }
}
void restore_baselines(const Node& /*node*/, const OtherFiles& /*others*/,
                       FileInRepair<MemoryFileKind>& /*file*/) {}

/// Removes empty entries, which have no effect.
template <class State>
State without_empty_entries(State state) {
  state.assignments.erase_if([](const auto&) { return false; });
  std::erase_if(state.pods, [](const auto& pod) { return pod.second.empty(); });
  return state;
}

/// Writes the repaired file; a file that the kubelet reads completely is unchanged.
template <class Kind>
void write_file(const Node& node, FileInRepair<Kind>& file, const ContainerIds& ids) {
  std::string& bytes = file.bytes;
  const auto& state = file.salvaged.state;
  std::string written = Kind::encode(node, state);
  if (file.notes.done.empty() && file.notes.lost.empty()) {
    const auto restored = Kind::restore(node, bytes, ids);
    const bool is_complete = restored && without_empty_entries(Kind::used_by(node, **restored)) ==
                                             without_empty_entries(Kind::used_by(node, state));
    if (is_complete) return;
    const int version = Kind::inspect(bytes)->version;
    const int next = Kind::inspect(written)->version;
    const std::string_view problem =
        restored ? "the kubelet would not read all of it" : "the kubelet rejects it";
    file.notes.done.push_back(
        {std::string(Kind::kName), version == next ? fmt::format("{}: rewritten", problem)
                                                   : fmt::format("is V{}, and {}: rewritten as V{}",
                                                                 version, problem, next)});
  }
  if (!(Kind::used_by(node, state) == state)) {
    file.notes.done.push_back({std::string(Kind::kName),
                               "the format of this kubelet has no baselines: dropped, so a resize "
                               "keeps all CPUs"});
  }
  const std::string from = readable_part(bytes);
  const auto before = Kind::inspect_unchecked(from);
  const bool is_same_format = before && before->version == Kind::inspect(written)->version;
  UnknownKeys keys = unknown_keys(from);
  if (file.is_damaged) keys.in_data.erase("baselines");  // restored as far as possible
  bytes = keep_keys(std::move(written), keys, is_same_format, file.notes.lost);
}

}  // namespace

Repaired repair(const Node& node, const KubeletFiles& files, const ContainerIds& ids,
                const OtherFiles& others) {
  Repaired out;
  out.files = files;
  std::optional<FileInRepair<CpuFileKind>> cpu;
  std::optional<FileInRepair<MemoryFileKind>> memory;
  // With active pods, a missing file is treated like an empty one.
  const bool has_pods = !others.pods.empty();
  if (files.cpu || (has_pods && node.cpu().is_static()) || runs_exclusively(node, others)) {
    cpu = read_file<CpuFileKind>(node, files.cpu.value_or(""), ids, others);
  }
  if (files.memory || (has_pods && node.memory().is_static())) {
    memory = read_file<MemoryFileKind>(node, files.memory.value_or(""), ids, others);
  }
  // The states as read, before repairs change them.
  const CpuCheckpoint cpu_read = cpu ? cpu->salvaged.state : CpuCheckpoint{};
  const MemoryCheckpoint memory_read = memory ? memory->salvaged.state : MemoryCheckpoint{};
  const auto finish = [&](auto& file, const auto& other_read, std::optional<std::string>& bytes) {
    auto& state = file.salvaged.state;
    if (file.is_damaged) {
      out.has_damage = true;
      restore(node, {file.is_replaced, others}, other_read, state, file.notes);
    }
    repair_state(node, state, file.notes);
    restore_baselines(node, others, file);
    write_file(node, file, ids);
    bytes = std::move(file.bytes);
    add_notes(out.done, file.notes.done);
    add_notes(out.lost, file.notes.lost);
    auto& read_back = file.notes.read_back;
    std::move(read_back.begin(), read_back.end(), std::back_inserter(out.read_back));
  };
  if (cpu) finish(*cpu, memory_read, out.files.cpu);
  if (memory) finish(*memory, cpu_read, out.files.memory);
  return out;
}

bool is_orphan_name(std::string_view name) {
  if (!name.starts_with('.') || name.size() < 2) return false;
  name.remove_prefix(1);
  if (name.starts_with(kCpuFileName) || name.starts_with(kMemoryFileName)) return true;
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace pinfold::checkpoint
