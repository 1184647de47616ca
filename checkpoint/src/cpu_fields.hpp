#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "go_value.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/go_dump.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/types/container_id.hpp"
#include "pinfold/types/cpuset.hpp"
#include "restore.hpp"

/// Reads and writes the fields of cpu_manager_state.
namespace pinfold::checkpoint::cpu_file {

template <class T>
using Nullable = std::optional<T>;
using Lists = std::map<std::string, std::string>;  // container to its CPUs
using PodLists = std::map<std::string, Nullable<Lists>>;
using PodSets = std::map<PodUid, CpuSet>;

enum class CpuFileVersion { kV1 = 1, kV2, kV3, kV4, kDataOfV4 };

/// The value of `baselines`.
struct Baselines {
  ContainerMap<CpuSet> sets;  ///< those that can be read
  /// All of them can. No kubelet that writes the key has been observed, so any other value counts
  /// as that of an unknown key.
  bool are_all = true;
};

/// A file as read. V1 has `by_id`, the others have `entries`; V3 has `pods`. V4 has `data`, the
/// fields of V3 as a text, and uses only these.
struct CpuFile {
  std::string policy;
  std::string default_set;
  Nullable<PodLists> entries = PodLists();
  Nullable<Lists> by_id = Lists();
  Nullable<PodSets> pods = PodSets();
  Baselines baselines;  ///< in `data` of V4
  std::uint64_t checksum = 0;
  std::string data;
  std::uint64_t data_checksum = 0;
  std::string error;  ///< why it cannot be this version; "" if it can
  /// The `pods` read before an error in them: Go stops reading there, this reader does not.
  std::optional<Nullable<PodSets>> pods_before_error;
};

/// The fields of any version, taken from a CpuFile or a CpuCheckpoint.
template <class Entries, class Pods>
struct CpuFields {
  std::string_view policy;
  std::string_view default_set;
  std::string_view entries_type;
  const Entries* entries;
  const Pods* pods;  ///< null before V3, which introduced the field
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

/// Writes a pod's CPUs: a list in the file, a set of single CPUs in the dump.
inline void put_pod(JsonWriter& out, const CpuSet& cpus) {
  out.open_struct();
  if (!cpus.empty()) {
    out.field("CPUSet", "cpuSet", "");
    out.string(cpus.to_string());
  }
  out.close_struct();
}
inline void put_pod(GoDump& out, const CpuSet& cpus) {
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
void put_fields(Out& out, const CpuFields<Entries, Pods>& fields) {
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
}

template <class Entries, class Pods>
std::uint32_t fields_checksum(const CpuFields<Entries, Pods>& fields, std::string_view suffix) {
  GoDump dump;
  dump.type(fmt::format("*state.CPUManagerCheckpoint{}", suffix));
  dump.open_struct();
  put_fields(dump, fields);
  put_checksum(dump, 0);
  dump.close_struct();
  return checksum(dump);
}

/// Writes the baselines as kubelets since 1.37 do with the gate
/// InPlacePodVerticalScalingExclusiveCPUs.
inline void put_baselines(JsonWriter& out, const ContainerMap<CpuSet>& baselines) {
  if (baselines.empty()) return;
  out.field("Baselines", "baselines", "");
  put_map(out, baselines.by_pod(), [&](const auto& containers) {
    put_map(out, containers, [&](const CpuSet& cpus) {
      out.open_struct();
      out.field("Baseline", "baseline", "");
      out.string(cpus.to_string());
      out.close_struct();
    });
  });
}

inline constexpr std::string_view kEntriesType = "map[string]map[string]string";

/// Writes the whole file. `entries`: the assignments of `state`, as they are or encoded.
template <class Json, class Entries>
void put_file(Json& json, const Entries& entries, const CpuCheckpoint& state,
              std::string_view policy, CpuFormat format) {
  const std::string default_set = state.default_set.to_string();
  const auto fields = [&](bool with_pods) {
    return CpuFields<Entries, PodSets>{policy, default_set, kEntriesType, &entries,
                                       with_pods ? &state.pods : nullptr};
  };
  const auto outside = fields(format == CpuFormat::kV3);  // V4 is V2 plus `data`
  json.open_struct();
  put_fields(json, outside);
  put_checksum(json, fields_checksum(outside, ""));
  if (format == CpuFormat::kV4) {
    Json data;
    data.open_struct();
    put_fields(data, fields(true));
    put_baselines(data, state.baselines);
    data.close_struct();
    put_data(json, std::move(data).take());
  }
  json.close_struct();
}

/// Reads a file as one version. Domain: `bytes` has no syntax error.
[[nodiscard]] CpuFile read(std::string_view bytes, CpuFileVersion version,
                           std::string_view go_type);
/// Computes the checksum of a file as that version. Domain: V1, V2, V3.
[[nodiscard]] std::uint32_t sum_of(const CpuFile& file, CpuFileVersion version);
[[nodiscard]] bool has_right_sum(const CpuFile& file, CpuFileVersion version, Names names);
/// Returns the file, or why it is not of that version. Domain: V1, V2, V3.
[[nodiscard]] Result<CpuFile> checked(CpuFile file, CpuFileVersion version, Names names);
[[nodiscard]] Baselines parse_baselines(std::string_view json);
/// Returns "state.CPUManagerCheckpointV2".
[[nodiscard]] std::string versioned_go_type(CpuFileVersion version);
/// Reads the fields in `data` of a V4 file.
[[nodiscard]] Result<CpuFile> load_data_of(const CpuFile& v4);
/// Converts a file. `set_name`: the kubelet's name for the default set in its message, which
/// changed in 1.37.
[[nodiscard]] Result<CpuCheckpoint> to_state(CpuFile file, std::optional<std::string_view> policy,
                                             std::string_view set_name);

}  // namespace pinfold::checkpoint::cpu_file
