#include <fmt/format.h>

#include <algorithm>

#include "cpu_fields.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "restore.hpp"
#include "salvage.hpp"

namespace pinfold::checkpoint {
namespace {

using namespace cpu_file;

enum class Version { kV1, kV2, kV3, kV4, kDataOfV4 };

/// `suffix`: of the name of the Go type.
std::uint32_t sum_of(const CpuFile& file, Version version, std::string_view suffix = "") {
  if (version == Version::kV1) {
    const Fields<Nullable<Lists>, PodSets> v1{file.policy, file.default_set, "map[string]string",
                                              &file.by_id, nullptr};
    return fields_checksum(v1, suffix);
  }
  const Fields<Nullable<PodLists>, Nullable<PodSets>> fields{
      file.policy, file.default_set, kEntriesType, &file.entries,
      version == Version::kV3 ? &file.pods : nullptr};
  return fields_checksum(fields, suffix);
}

bool verify(const CpuFile& file, Version version, bool pod_level_gate) {
  if (version != Version::kV3 && file.checksum == 0) return true;
  if (file.checksum == sum_of(file, version)) return true;
  // Earlier kubelets hashed the name of the type with its version.
  return version == Version::kV2 && !pod_level_gate && file.checksum == sum_of(file, version, "V2");
}

void read_lists(JsonReader& json, Nullable<Lists>& out) {
  if (!begin(json, out)) return;
  json.map("map[string]string", [&](const std::string& key) {
    std::string& list = (*out)[key];
    list.clear();
    json.read(list);
  });
}

void read_entries(JsonReader& json, Nullable<PodLists>& out) {
  if (!begin(json, out)) return;
  json.map(kEntriesType, [&](const std::string& pod) {
    Nullable<Lists>& containers = (*out)[pod];
    containers.reset();  // the second occurrence of a pod replaces the first
    read_lists(json, containers);
  });
}

void read_pods(JsonReader& json, CpuFile& file) {
  if (!begin(json, file.pods)) return;
  json.map("state.PodCPUAssignments", [&](const std::string& pod) {
    std::string list;
    const auto read_list = [&] { json.read(list); };
    json.structure("state.podEntryJSON", JsonReader::Field{"cpuSet", read_list});
    auto cpus = CpuSet::parse(list);
    if (!cpus && file.error.empty()) file.error = cpus.error().message;
    (*file.pods)[PodUid(pod)] = cpus ? *std::move(cpus) : CpuSet();
  });
}

/// Domain: `bytes` has no syntax error.
CpuFile read(std::string_view bytes, Version version, std::string_view go_type) {
  CpuFile file;
  JsonReader json(bytes);
  const auto field = [&](std::string_view name, bool known, const auto& read_value) {
    return versioned_field(json, name, known, read_value);
  };
  const bool is_v4 = version == Version::kV4;
  json.structure(
      go_type,  //
      field("policyName", true, [&] { json.read(file.policy); }),
      field("defaultCpuSet", true, [&] { json.read(file.default_set); }),
      field("entries", true,
            [&] {
              version == Version::kV1 ? read_lists(json, file.by_id)
                                      : read_entries(json, file.entries);
            }),
      field("podEntries", version >= Version::kV3, [&] { read_pods(json, file); }),
      field("checksum", version != Version::kDataOfV4,
            [&] { json.read(file.checksum, "checksum.Checksum"); }),
      field("data", is_v4, [&] { json.read(file.data); }),
      field("dataChecksum", is_v4, [&] { json.read(file.data_checksum, "checksum.Checksum"); }));
  if (!json.error().empty()) file.error = json.error();
  return file;
}

Result<CpuFile> check(CpuFile file, Version version, bool pod_level_gate) {
  if (!file.error.empty()) return corrupt(file.error);
  if (!verify(file, version, pod_level_gate)) return wrong_checksum();
  return file;
}

Result<CpuFile> load(std::string_view bytes, Version version, std::string_view go_type,
                     bool pod_level_gate) {
  return check(read(bytes, version, go_type), version, pod_level_gate);
}

/// Replaces the runtime ids of V1 by pods and containers.
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
    Nullable<Lists>& containers = (*file.entries)[found->second.pod.value];
    if (!containers) containers.emplace();
    (*containers)[found->second.name] = list;
  }
  return file;
}

/// Reads the newest version that the bytes have; the error is that of the oldest.
Result<CpuFile> load_newest(std::string_view bytes, bool pod_level_gate, const ContainerIds& ids) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  auto pods = CpuFile().pods;
  if (pod_level_gate) {
    CpuFile v3 = read(bytes, Version::kV3, "state.CPUManagerCheckpoint");
    pods = v3.pods;
    if (auto checked = check(std::move(v3), Version::kV3, pod_level_gate)) return checked;
  }
  auto v2 = load(bytes, Version::kV2, "state.CPUManagerCheckpointV2", pod_level_gate);
  if (v2) {
    v2->pods = std::move(pods);  // those of the failed attempt stay: the kubelet reuses its object
    return v2;
  }
  auto v1 = load(bytes, Version::kV1, "state.CPUManagerCheckpointV1", pod_level_gate);
  return v1 ? migrate(*std::move(v1), ids) : v1;
}

/// The fields in `data` of a V4 file.
Result<CpuFile> load_data_of_v4(const CpuFile& v4) {
  return load_data(v4, "cpu", [](std::string_view data) {
    return read(data, Version::kDataOfV4, "state.CPUManagerCheckpointData");
  });
}

/// The same for a kubelet that writes V4.
Result<CpuFile> load_newest_v4(std::string_view bytes, bool pod_level_gate) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  const CpuFile v4 = read(bytes, Version::kV4, "state.CPUManagerCheckpoint");
  auto file = load_data_of_v4(v4);
  if (!file && is_newest(v4)) {
    return fail(std::move(file).error().wrap("could not load v4 checkpoint"));
  }
  if (!file) file = load(bytes, Version::kV3, "state.CPUManagerCheckpointV3", pod_level_gate);
  if (!file) file = load(bytes, Version::kV2, "state.CPUManagerCheckpointV2", pod_level_gate);
  if (file && !pod_level_gate) file->pods.reset();
  return file;
}

/// `set_name`: how the kubelet's message calls the default set, which changed with V4.
Result<CpuCheckpoint> to_state(CpuFile file, std::optional<std::string_view> policy,
                               std::string_view set_name) {
  if (policy && file.policy != *policy) return other_policy("", *policy, file.policy);
  CpuCheckpoint state;
  auto set = CpuSet::parse(file.default_set);
  if (!set) {
    return corrupt(fmt::format("could not parse default {} {}: {}", set_name,
                               go::quote(file.default_set), set.error().message));
  }
  state.default_set = *std::move(set);
  if (file.entries) {
    for (const auto& [pod, containers] : *file.entries) {
      auto& assigned = state.assignments[PodUid(pod)];
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

std::string encode_cpu(const CpuCheckpoint& state, std::string_view policy, CpuFormat format) {
  const std::string default_set = state.default_set.to_string();
  const Fields<ContainerMap<CpuSet>::ByPod, PodSets> fields{
      policy, default_set, kEntriesType, &state.assignments.by_pod(),
      format == CpuFormat::kV2 ? nullptr : &state.pods};
  JsonWriter json;
  json.open_struct();
  put_fields(json, fields);
  if (format != CpuFormat::kV4) {
    put_checksum(json, fields_checksum(fields, ""));
  } else {
    JsonWriter data;
    data.open_struct();
    put_fields(data, fields);
    data.close_struct();
    put_checksum(json, 0);  // older kubelets read it as V2 then
    put_data(json, data.text());
  }
  json.close_struct();
  return std::move(json).take();
}

std::string encode_cpu(const CpuCheckpoint& state, std::string_view policy, bool pod_level_gate) {
  return encode_cpu(state, policy, pod_level_gate ? CpuFormat::kV3 : CpuFormat::kV2);
}

Result<std::string> encode_cpu_v1(const CpuCheckpoint& state, std::string_view policy,
                                  const ContainerIds& ids) {
  Lists by_id;
  for (const auto& [pod, name, cpus] : state.assignments) {
    const ContainerId container{pod, name};
    const auto found = std::find_if(ids.begin(), ids.end(),
                                    [&](const auto& entry) { return entry.second == container; });
    if (found == ids.end()) {
      return fail(ErrorCode::kNotFound,
                  fmt::format("container '{}': CPU V1 needs its runtime id", container));
    }
    by_id[found->first] = cpus.to_string();
  }
  const std::string default_set = state.default_set.to_string();
  const Fields<Lists, PodSets> fields{policy, default_set, "map[string]string", &by_id, nullptr};
  JsonWriter json;
  json.open_struct();
  put_fields(json, fields);
  put_checksum(json, fields_checksum(fields, ""));
  json.close_struct();
  return std::move(json).take();
}

namespace {

Result<std::optional<CpuCheckpoint>> restored(Result<CpuFile> file,
                                              std::optional<std::string_view> policy,
                                              std::string_view set_name,
                                              std::string_view state_dir) {
  auto state = std::move(file).and_then(
      [&](CpuFile&& read) { return to_state(std::move(read), policy, set_name); });
  if (!state) return drain_and_delete(std::move(state).error(), "CPU", state_dir, kCpuFileName);
  return std::optional<CpuCheckpoint>(*std::move(state));
}

}  // namespace

Result<std::optional<CpuCheckpoint>> restore_cpu(std::optional<std::string_view> bytes,
                                                 std::optional<std::string_view> policy,
                                                 bool pod_level_gate, const ContainerIds& ids,
                                                 std::string_view state_dir) {
  if (!bytes) return std::optional<CpuCheckpoint>();
  return restored(load_newest(*bytes, pod_level_gate, ids), policy, "cpu set", state_dir);
}

Result<std::optional<CpuCheckpoint>> restore_cpu_v4(std::optional<std::string_view> bytes,
                                                    std::optional<std::string_view> policy,
                                                    bool pod_level_gate,
                                                    std::string_view state_dir) {
  if (!bytes) return std::optional<CpuCheckpoint>();
  return restored(load_newest_v4(*bytes, pod_level_gate), policy, "CPU set", state_dir);
}

Result<Inspected<CpuCheckpoint>> inspect_cpu(std::string_view bytes) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  int version = 4;
  auto file = load_data_of_v4(read(bytes, Version::kV4, "state.CPUManagerCheckpoint"));
  for (const Version older : {Version::kV3, Version::kV2, Version::kV1}) {
    if (file) break;
    --version;
    file = load(bytes, older, fmt::format("state.CPUManagerCheckpointV{}", version), false);
  }
  PINFOLD_LET(CpuFile found, std::move(file));
  if (version == 1) (*found.entries)[""] = found.by_id;
  PINFOLD_LET(auto state, to_state(found, std::nullopt, "cpu set"));
  return Inspected<CpuCheckpoint>{version, found.policy, std::move(state)};
}

std::vector<WrongSum> wrong_cpu_sums(std::string_view bytes) {
  return wrong_sums<Version>(
      bytes, Version::kV4, {{Version::kV3, "V3"}, {Version::kV2, "V2"}, {Version::kV1, "V1"}},
      [&](Version version) { return read(bytes, version, ""); },
      [](const CpuFile& file, Version version) { return verify(file, version, false); },
      [](const CpuFile& file, Version version) { return sum_of(file, version); });
}

Salvaged<CpuCheckpoint> salvage_cpu(std::string_view json, const ContainerIds& ids) {
  Salvaged<CpuCheckpoint> out;
  CpuFile file = read(json, Version::kV4, "");
  if (!file.data.empty() && !json_syntax_error(file.data)) {
    const std::string data = std::move(file.data);
    file = read(data, Version::kDataOfV4, "");
  }
  out.policy = file.policy;
  const auto parse = [&](const std::string& object, const std::string& list) {
    auto cpus = CpuSet::parse(list);
    if (!cpus) out.lost.push_back({object, "'" + list + "' is not a list of CPUs"});
    return cpus;
  };
  out.state.default_set = parse("shared pool", file.default_set).value_or(CpuSet());
  const CpuFile v1 = read(json, Version::kV1, "");
  if (v1.error.empty() && v1.by_id) {
    file.entries.reset();
    for (const auto& [id, list] : *v1.by_id) {
      const auto found = ids.find(id);
      const auto cpus = parse(id, list);
      if (found == ids.end()) {
        out.lost.push_back({id, "CPUs " + list + ": the id belongs to no known container"});
      } else if (cpus) {
        out.state.assignments[found->second] = *cpus;
      }
    }
  }
  for (const auto& [pod, containers] : file.entries.value_or(PodLists())) {
    for (const auto& [name, list] : containers.value_or(Lists())) {
      const ContainerId container{PodUid(pod), name};
      if (auto cpus = parse(to_string(container), list)) out.state.assignments[container] = *cpus;
    }
  }
  out.state.pods = file.pods.value_or(PodSets());
  std::erase_if(out.state.pods, [](const auto& pod) { return pod.second.empty(); });
  return out;
}

}  // namespace pinfold::checkpoint
