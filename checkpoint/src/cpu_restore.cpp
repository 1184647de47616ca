#include <fmt/format.h>

#include "cpu_fields.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/kubelet.hpp"
#include "restore.hpp"

namespace pinfold::checkpoint {
namespace cpu_file {
namespace {

/// Returns the Go type of a version; the newest one that a kubelet knows has no version in its
/// name.
std::string go_type_of(const Kubelet& kubelet, CpuFileVersion version) {
  const CpuFileVersion newest = kubelet.minor >= 37   ? CpuFileVersion::kV4
                                : kubelet.minor == 36 ? CpuFileVersion::kV3
                                                      : CpuFileVersion::kV2;
  return version == newest ? "state.CPUManagerCheckpoint" : versioned_go_type(version);
}

Names names_of(const Kubelet& kubelet, CpuFileVersion version) {
  const bool also_versioned =
      (version == CpuFileVersion::kV3 && kubelet.minor >= 37) ||
      (version == CpuFileVersion::kV2 && kubelet.minor >= 36 && !kubelet.pod_level_gate);
  return also_versioned ? Names::kAlsoVersioned : Names::kPlain;
}

/// Replaces the runtime ids of V1 with pods and containers.
Result<CpuFile> migrate(CpuFile file, const Kubelet& kubelet, const ContainerIds& ids) {
  if (!file.by_id) return file;
  for (const auto& [id, list] : *file.by_id) {
    const auto found = ids.find(id);
    if (found == ids.end()) {
      return corrupt(fmt::format("{}: containerID '{}' not found in initial containers list",
                                 kubelet.minor >= 36
                                     ? "failed to migrate checkpoint from v1 to v2"
                                     : "error migrating v1 checkpoint state to v2 checkpoint state",
                                 id));
    }
    Nullable<Lists>& containers = (*file.entries)[found->second.pod.value];
    if (!containers) containers.emplace();
    (*containers)[found->second.name] = list;
  }
  return file;
}

/// Tries one version after the other; the error is that of the last.
Result<CpuFile> load_as(const Kubelet& kubelet, std::string_view bytes, const ContainerIds& ids) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  Result<CpuFile> file;
  Nullable<PodSets> failed_pods;  // from the failed attempt to read V3
  for (const int number : formats_of(kubelet).reads_cpu) {
    const auto version = static_cast<CpuFileVersion>(number);
    const CpuFile found = read(bytes, version, go_type_of(kubelet, version));
    file = version == CpuFileVersion::kV4 ? load_data_of(found)
                                          : checked(found, version, names_of(kubelet, version));
    if (!file && version == CpuFileVersion::kV4 && is_newest(found)) {
      return fail(std::move(file).error().wrap("could not load v4 checkpoint"));
    }
    if (!file && version == CpuFileVersion::kV3)
      failed_pods = found.pods_before_error.value_or(found.pods);
    if (!file) continue;
    if (version == CpuFileVersion::kV1) {
      PINFOLD_LET(file, migrate(*std::move(file), kubelet, ids));
    }
    // Kubelet 1.36 reuses the object from its failed attempt.
    if (kubelet.minor == 36 && version < CpuFileVersion::kV3) file->pods = std::move(failed_pods);
    if (!kubelet.pod_level_gate) file->pods.reset();
    break;
  }
  return file;
}

Result<CpuCheckpoint> restored(Result<CpuFile> file, std::optional<std::string_view> policy,
                               const Kubelet& kubelet, std::string_view state_dir) {
  const std::string_view set_name = kubelet.minor >= 37 ? "CPU set" : "cpu set";
  auto state = std::move(file).and_then(
      [&](CpuFile&& read) { return to_state(std::move(read), policy, set_name); });
  if (!state) return drain_and_delete(std::move(state).error(), "CPU", state_dir, kCpuFileName);
  return state;
}

CpuSet cpus_of(const CpuCheckpoint& state) {
  CpuSet cpus = state.default_set;
  for (const auto& entry : state.assignments) cpus |= entry.value;
  for (const auto& [pod, own] : state.pods) cpus |= own;
  return cpus;
}

/// Returns why the CPU manager would not start: it expects every CPU of the machine in the state.
/// Assumes that the machine has all CPUs that the file names, including pod entries that this
/// kubelet does not read.
std::string find_start_error(std::string_view bytes, const CpuCheckpoint& state) {
  const auto whole = inspect_cpu(bytes);
  const CpuSet known = cpus_of(state);
  if (!whole || whole->state.pods.empty() || known.empty()) return "";
  const CpuSet all = cpus_of(whole->state);
  if (known.contains_all(all)) return "";
  return fmt::format("current set of available CPUs \"{}\" doesn't match with CPUs in state \"{}\"",
                     all.to_string(), known.to_string());
}

std::string json_of(const CpuCheckpoint& state) {
  JsonWriter json;
  json.open_struct();
  json.field("", "defaultCpuSet", "");
  json.string(state.default_set.to_string());
  json.field("", "entries", "");
  put_map(json, state.assignments.by_pod(), [&](const auto& pod) { put_entry(json, pod); });
  json.field("", "podEntries", "");
  put_map(json, state.pods, [&](const CpuSet& cpus) { put_entry(json, cpus); });
  put_baselines(json, state.baselines);
  json.close_struct();
  return std::move(json).take();
}

}  // namespace
}  // namespace cpu_file

Result<std::optional<CpuCheckpoint>> restore_cpu(std::optional<std::string_view> bytes,
                                                 std::optional<std::string_view> policy,
                                                 const Kubelet& kubelet, const ContainerIds& ids,
                                                 std::string_view state_dir) {
  if (!bytes) return std::optional<CpuCheckpoint>();
  return cpu_file::restored(cpu_file::load_as(kubelet, *bytes, ids), policy, kubelet, state_dir);
}

Result<std::optional<CpuCheckpoint>> restore_cpu(std::optional<std::string_view> bytes,
                                                 std::optional<std::string_view> policy,
                                                 bool pod_level_gate, const ContainerIds& ids,
                                                 std::string_view state_dir) {
  return restore_cpu(bytes, policy, Kubelet{36, pod_level_gate}, ids, state_dir);
}

Reading<CpuCheckpoint> read_cpu(std::string_view bytes, const Kubelet& kubelet,
                                std::optional<std::string_view> policy, const ContainerIds& ids) {
  Reading<CpuCheckpoint> out;
  auto file = cpu_file::load_as(kubelet, bytes, ids);
  if (file) out.policy = file->policy;
  auto state = cpu_file::restored(std::move(file), policy, kubelet, kKubeletDir);
  if (!state) {
    out.error = std::move(state).error().message;
    return out;
  }
  out.state = *std::move(state);
  out.json = cpu_file::json_of(out.state);
  if (out.policy == "static") out.start_error = cpu_file::find_start_error(bytes, out.state);
  if (!policy && out.start_error.empty()) {
    out.start_error = find_policy_error(out.policy, {"none", "static"});
  }
  return out;
}

}  // namespace pinfold::checkpoint
