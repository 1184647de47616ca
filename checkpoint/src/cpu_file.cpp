#include <fmt/format.h>

#include <algorithm>

#include "cpu_fields.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "restore.hpp"

namespace pinfold::checkpoint {
namespace cpu_file {
namespace {

std::uint32_t suffixed_sum(const CpuFile& file, CpuFileVersion version, std::string_view suffix) {
  if (version == CpuFileVersion::kV1) {
    const CpuFields<Nullable<Lists>, PodSets> v1{file.policy, file.default_set, "map[string]string",
                                                 &file.by_id, nullptr};
    return fields_checksum(v1, suffix);
  }
  const CpuFields<Nullable<PodLists>, Nullable<PodSets>> fields{
      file.policy, file.default_set, kEntriesType, &file.entries,
      version == CpuFileVersion::kV3 ? &file.pods : nullptr};
  return fields_checksum(fields, suffix);
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

/// Reads the pod entries. Their Go type has an UnmarshalJSON; at its first error Go stops reading
/// the file.
void read_pods(JsonReader& json, CpuFile& file) {
  if (!begin(json, file.pods)) return;
  json.map("state.PodCPUAssignments", [&](const std::string& pod) {
    JsonReader entry = json.nested();
    std::string list;
    const auto read_list = [&] { entry.read(list); };
    entry.structure("state.podEntryJSON", JsonReader::Field{"cpuSet", read_list});
    auto cpus = CpuSet::parse(list);
    if (cpus && entry.error().empty()) {
      (*file.pods)[PodUid(pod)] = *std::move(cpus);
    } else if (file.error.empty()) {
      file.pods_before_error = file.pods;
      file.error =
          entry.error().empty() ? "failed to parse cpuset: " + cpus.error().message : entry.error();
    }
  });
}

}  // namespace

CpuFile read(std::string_view bytes, CpuFileVersion version, std::string_view go_type) {
  CpuFile file;
  JsonReader json(bytes);
  const bool is_v4 = version == CpuFileVersion::kV4;
  const auto field = [&](std::string_view name, bool known, const auto& read_value) {
    return versioned_field(json, name, known, read_value, is_v4 ? "CPUManagerCheckpointV2" : "");
  };
  const auto field_of_v4 = [&](std::string_view name, const auto& read_value) {
    return versioned_field(json, name, is_v4, read_value, "");
  };
  const bool has_pods = version == CpuFileVersion::kV3 || version == CpuFileVersion::kDataOfV4;
  json.structure(
      go_type,  //
      field("policyName", true, [&] { json.read(file.policy); }),
      field("defaultCpuSet", true, [&] { json.read(file.default_set); }),
      field("entries", true,
            [&] {
              version == CpuFileVersion::kV1 ? read_lists(json, file.by_id)
                                             : read_entries(json, file.entries);
            }),
      field("podEntries", has_pods, [&] { read_pods(json, file); }),
      field("baselines", version == CpuFileVersion::kDataOfV4,
            [&] { file.baselines = parse_baselines(json.raw()); }),
      field("checksum", version != CpuFileVersion::kDataOfV4,
            [&] { json.read(file.checksum, "checksum.Checksum"); }),
      field_of_v4("data", [&] { json.read(file.data); }),
      field_of_v4("dataChecksum", [&] { json.read(file.data_checksum, "checksum.Checksum"); }));
  if (file.error.empty()) file.error = json.error();
  return file;
}

std::uint32_t sum_of(const CpuFile& file, CpuFileVersion version) {
  return suffixed_sum(file, version, "");
}

bool has_right_sum(const CpuFile& file, CpuFileVersion version, Names names) {
  if (version != CpuFileVersion::kV3 && file.checksum == 0) return true;
  if (file.checksum == sum_of(file, version)) return true;
  const auto suffix = fmt::format("V{}", static_cast<int>(version));
  return names == Names::kAlsoVersioned && file.checksum == suffixed_sum(file, version, suffix);
}

Result<CpuFile> checked(CpuFile file, CpuFileVersion version, Names names) {
  if (!file.error.empty()) return corrupt(file.error);
  if (!has_right_sum(file, version, names)) return wrong_checksum();
  return file;
}

Baselines parse_baselines(std::string_view json) {
  Baselines baselines;
  JsonReader reader(json);
  if (reader.null()) return baselines;
  reader.map("", [&](const std::string& pod) {
    if (reader.null()) return;
    reader.map("", [&](const std::string& name) {
      std::string list;
      const auto read_list = [&] { reader.read(list); };
      reader.structure("state.ContainerCPUs", JsonReader::Field{"baseline", read_list});
      auto cpus = CpuSet::parse(list);
      if (!cpus || cpus->empty()) {
        baselines.are_all = false;
      } else {
        baselines.sets[{PodUid(pod), name}] = *std::move(cpus);
      }
    });
  });
  if (!reader.error().empty()) baselines.are_all = false;
  return baselines;
}

std::string versioned_go_type(CpuFileVersion version) {
  return fmt::format("state.CPUManagerCheckpointV{}", static_cast<int>(version));
}

Result<CpuFile> load_data_of(const CpuFile& v4) {
  return load_data(v4, "cpu", [](std::string_view data) {
    return read(data, CpuFileVersion::kDataOfV4, "state.CPUManagerCheckpointData");
  });
}

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
  if (file.baselines.are_all) state.baselines = std::move(file.baselines.sets);
  return state;
}

}  // namespace cpu_file

std::string encode_cpu(const CpuCheckpoint& state, std::string_view policy, CpuFormat format) {
  JsonWriter json;
  cpu_file::put_file(json, state.assignments.by_pod(), state, policy, format);
  return std::move(json).take();
}

std::string encode_cpu(const CpuCheckpoint& state, std::string_view policy, bool pod_level_gate) {
  return encode_cpu(state, policy, pod_level_gate ? CpuFormat::kV3 : CpuFormat::kV2);
}

Result<std::string> encode_cpu_v1(const CpuCheckpoint& state, std::string_view policy,
                                  const ContainerIds& ids) {
  cpu_file::Lists by_id;
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
  const cpu_file::CpuFields<cpu_file::Lists, cpu_file::PodSets> fields{
      policy, default_set, "map[string]string", &by_id, nullptr};
  JsonWriter json;
  json.open_struct();
  put_fields(json, fields);
  put_checksum(json, fields_checksum(fields, ""));
  json.close_struct();
  return std::move(json).take();
}

}  // namespace pinfold::checkpoint
