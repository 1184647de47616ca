#include <fmt/format.h>

#include <array>

#include "go_value.hpp"
#include "pinfold/checkpoint/go_dump.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "restore.hpp"

namespace pinfold::checkpoint {
namespace {

template <class T>
using Nullable = std::optional<T>;
using Lists = std::map<std::string, std::string>;  // container to its CPUs
using PodLists = std::map<std::string, Nullable<Lists>>;
using PodSets = std::map<std::string, CpuSet>;

/// A file as it was read. V1 has `by_id`, V2 and V3 have `entries`, V3 has `pods`.
struct CpuFile {
  std::string policy;
  std::string default_set;
  Nullable<PodLists> entries = PodLists();
  Nullable<Lists> by_id = Lists();
  Nullable<PodSets> pods = PodSets();
  std::uint64_t checksum = 0;
};

/// The fields of any version, out of a CpuFile or a CpuState.
template <class Entries, class Pods>
struct Fields {
  std::string_view policy;
  std::string_view default_set;
  std::string_view entries_type;
  const Entries* entries;
  const Pods* pods;  ///< null before V3: there is no such field
};

template <class Out>
void put_entry(Out& out, const std::string& list) {
  out.string(list);
}
template <class Out>
void put_entry(Out& out, const CpuSet& cpus) {
  out.string(cpus.to_string());
}
template <class Out, class T>
void put_entry(Out& out, const std::map<std::string, T>& containers) {
  put_map(out, containers, [&](const T& list) { put_entry(out, list); });
}
template <class Out>
void put_entry(Out& out, const Nullable<Lists>& containers) {
  put_map(out, containers, [&](const std::string& list) { out.string(list); });
}

/// The CPUs of a pod are a list in the file, and a set of single CPUs in the dump.
void put_pod(JsonWriter& out, const CpuSet& cpus) {
  out.open_struct();
  if (!cpus.empty()) {
    out.field("CPUSet", "cpuSet", "");
    out.string(cpus.to_string());
  }
  out.close_struct();
}
void put_pod(GoDump& out, const CpuSet& cpus) {
  out.open_struct();
  out.field("CPUSet", "", "cpuset.CPUSet");
  out.open_struct();
  out.field("elems", "", "map[int]struct {}");
  out.open_map();
  for (const CpuId cpu : cpus) {
    out.key(std::int64_t{cpu.value});
    out.string("{}");
  }
  out.close_map();
  out.close_struct();
  out.close_struct();
}

template <class Out, class Entries, class Pods>
void put_fields(Out& out, const Fields<Entries, Pods>& fields, std::uint64_t checksum) {
  out.open_struct();
  out.field("PolicyName", "policyName", "string");
  out.string(fields.policy);
  out.field("DefaultCPUSet", "defaultCpuSet", "string");
  out.string(fields.default_set);
  if (!omitted<Out>(*fields.entries)) {
    out.field("Entries", "entries", fields.entries_type);
    put_map(out, *fields.entries, [&](const auto& entry) { put_entry(out, entry); });
  }
  if (fields.pods != nullptr && !omitted<Out>(*fields.pods)) {
    out.field("PodEntries", "podEntries", "state.PodCPUAssignments");
    put_map(out, *fields.pods, [&](const CpuSet& cpus) { put_pod(out, cpus); });
  }
  out.field("Checksum", "checksum", "checksum.Checksum");
  out.number(checksum);
  out.close_struct();
}

template <class Entries, class Pods>
std::uint32_t fields_checksum(const Fields<Entries, Pods>& fields, std::string_view suffix) {
  GoDump dump;
  dump.type(fmt::format("*state.CPUManagerCheckpoint{}", suffix));
  put_fields(dump, fields, 0);
  return checksum(dump);
}

constexpr std::string_view kEntriesType = "map[string]map[string]string";

enum class Version { kV1, kV2, kV3 };

bool verify(const CpuFile& file, Version version, bool pod_level_gate) {
  if (version == Version::kV1) {
    const Fields<Nullable<Lists>, PodSets> v1{file.policy, file.default_set, "map[string]string",
                                              &file.by_id, nullptr};
    return file.checksum == 0 || file.checksum == fields_checksum(v1, "");
  }
  Fields<Nullable<PodLists>, Nullable<PodSets>> fields{file.policy, file.default_set, kEntriesType,
                                                       &file.entries, nullptr};
  if (version == Version::kV3) {
    fields.pods = &file.pods;
    return file.checksum == fields_checksum(fields, "");
  }
  if (file.checksum == 0 || file.checksum == fields_checksum(fields, "")) return true;
  // Kubelets before V3 existed in this form hashed the name of the type as it was then.
  return !pod_level_gate && file.checksum == fields_checksum(fields, "V2");
}

void read_lists(JsonReader& json, Nullable<Lists>& out, std::string_view go_type) {
  if (json.null()) {
    out.reset();
    return;
  }
  if (!out) out.emplace();
  json.map(go_type, [&](const std::string& key) {
    std::string& list = (*out)[key];
    list.clear();
    json.read(list);
  });
}

void read_entries(JsonReader& json, Nullable<PodLists>& out) {
  if (json.null()) {
    out.reset();
    return;
  }
  if (!out) out.emplace();
  json.map(kEntriesType, [&](const std::string& pod) {
    Nullable<Lists>& containers = (*out)[pod];
    containers.reset();  // a pod that is named twice starts anew
    read_lists(json, containers, "map[string]string");
  });
}

/// Returns false for a list that cannot be parsed.
bool read_pods(JsonReader& json, Nullable<PodSets>& out) {
  if (json.null()) {
    out.reset();
    return true;
  }
  if (!out) out.emplace();
  bool sound = true;
  json.map("state.PodCPUAssignments", [&](const std::string& pod) {
    std::string list;
    const auto read_list = [&] { json.read(list); };
    json.structure("state.podEntryJSON", JsonReader::Field{"cpuSet", read_list});
    const auto cpus = CpuSet::parse(list);
    sound = sound && cpus.has_value();
    (*out)[pod] = cpus.value_or(CpuSet());
  });
  return sound;
}

/// Reads and verifies one version.
Result<CpuFile> load(std::string_view bytes, Version version, bool pod_level_gate) {
  constexpr std::array<std::string_view, 3> kTypes = {
      "state.CPUManagerCheckpointV1", "state.CPUManagerCheckpointV2", "state.CPUManagerCheckpoint"};
  CpuFile file;
  JsonReader json(bytes);
  bool pods_sound = true;
  const auto read_policy = [&] { json.read(file.policy); };
  const auto read_default = [&] { json.read(file.default_set); };
  const auto read_checksum = [&] { json.read(file.checksum, "checksum.Checksum"); };
  const auto read_any_entries = [&] {
    if (version == Version::kV1) {
      read_lists(json, file.by_id, "map[string]string");
    } else {
      read_entries(json, file.entries);
    }
  };
  const auto read_any_pods = [&] {
    if (version == Version::kV3) {
      pods_sound = read_pods(json, file.pods) && pods_sound;
    } else {
      json.skip();
    }
  };
  json.structure(
      kTypes[static_cast<std::size_t>(version)], JsonReader::Field{"policyName", read_policy},
      JsonReader::Field{"defaultCpuSet", read_default},
      JsonReader::Field{"entries", read_any_entries},
      JsonReader::Field{"podEntries", read_any_pods}, JsonReader::Field{"checksum", read_checksum});
  if (!json.error().empty()) return corrupt(json.error());
  if (!pods_sound || !verify(file, version, pod_level_gate)) return wrong_checksum();
  return file;
}

/// Container ids become pods and containers.
Result<CpuFile> migrate(CpuFile file, const ContainerIds& ids) {
  if (!file.by_id) return file;
  for (const auto& [id, list] : *file.by_id) {
    const auto found = ids.find(id);
    if (found == ids.end()) {
      return corrupt(fmt::format(
          "failed to migrate checkpoint from v1 to v2: containerID '{}' not found in initial "
          "containers list",
          id));
    }
    Nullable<Lists>& containers = (*file.entries)[found->second.pod_uid];
    if (!containers) containers.emplace();
    (*containers)[found->second.container] = list;
  }
  return file;
}

/// The newest version that the bytes are; the error is that of the oldest.
Result<CpuFile> load_newest(std::string_view bytes, bool pod_level_gate, const ContainerIds& ids) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  if (pod_level_gate) {
    auto v3 = load(bytes, Version::kV3, pod_level_gate);
    if (v3) return v3;
  }
  auto v2 = load(bytes, Version::kV2, pod_level_gate);
  if (v2) return v2;
  auto v1 = load(bytes, Version::kV1, pod_level_gate);
  return v1 ? migrate(*std::move(v1), ids) : v1;
}

Result<CpuState> to_state(CpuFile file, std::string_view policy) {
  if (file.policy != policy) return other_policy("", policy, file.policy);
  CpuState state;
  auto set = CpuSet::parse(file.default_set);
  if (!set) {
    return corrupt(fmt::format("could not parse default cpu set {}: {}",
                               go::quote(file.default_set), set.error().message));
  }
  state.default_set = *std::move(set);
  if (file.entries) {
    for (const auto& [pod, containers] : *file.entries) {
      auto& assigned = state.assignments[pod];
      if (!containers) continue;
      for (const auto& [container, list] : *containers) {
        auto cpus = CpuSet::parse(list);
        if (!cpus) {
          return corrupt(fmt::format("could not parse cpuset {} for container {} in pod {}: {}",
                                     go::quote(list), go::quote(container), go::quote(pod),
                                     cpus.error().message));
        }
        assigned[container] = *std::move(cpus);
      }
    }
  }
  if (file.pods) state.pods = *std::move(file.pods);
  return state;
}

}  // namespace

std::string encode_cpu(const CpuState& state, std::string_view policy, bool pod_level_gate) {
  const std::string default_set = state.default_set.to_string();
  const Fields<decltype(state.assignments), PodSets> fields{policy, default_set, kEntriesType,
                                                            &state.assignments,
                                                            pod_level_gate ? &state.pods : nullptr};
  JsonWriter json;
  put_fields(json, fields, fields_checksum(fields, ""));
  return std::move(json).take();
}

Result<std::optional<CpuState>> restore_cpu(std::optional<std::string_view> bytes,
                                            std::string_view policy, bool pod_level_gate,
                                            const ContainerIds& ids, std::string_view state_dir) {
  if (!bytes) return std::optional<CpuState>();
  auto state = load_newest(*bytes, pod_level_gate, ids).and_then([&](CpuFile file) {
    return to_state(std::move(file), policy);
  });
  if (!state) {
    return drain_and_delete(std::move(state).error(), "CPU", state_dir, kCpuFileName);
  }
  return std::optional<CpuState>(*std::move(state));
}

}  // namespace pinfold::checkpoint
