#include "cpu_fields.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "restore.hpp"
#include "salvage.hpp"

namespace pinfold::checkpoint {
namespace {

Result<Inspected<CpuCheckpoint>> inspected(cpu_file::CpuFile file, int version) {
  if (version == 1) (*file.entries)[""] = file.by_id;
  std::string policy = file.policy;
  PINFOLD_LET(auto state, to_state(std::move(file), std::nullopt, "cpu set"));
  return Inspected<CpuCheckpoint>{version, std::move(policy), std::move(state)};
}

}  // namespace

Result<Inspected<CpuCheckpoint>> inspect_cpu(std::string_view bytes) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  using cpu_file::CpuFileVersion;
  int version = 4;
  auto file =
      load_data_of(cpu_file::read(bytes, CpuFileVersion::kV4, "state.CPUManagerCheckpoint"));
  for (const CpuFileVersion older :
       {CpuFileVersion::kV3, CpuFileVersion::kV2, CpuFileVersion::kV1}) {
    if (file) break;
    --version;
    file = checked(cpu_file::read(bytes, older, cpu_file::versioned_go_type(older)), older,
                   Names::kAlsoVersioned);
  }
  if (!file) return fail(error_of(std::move(file), wrong_cpu_sums(bytes)));
  return inspected(*std::move(file), version);
}

Result<Inspected<CpuCheckpoint>> inspect_cpu_unchecked(std::string_view bytes) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  using cpu_file::CpuFileVersion;
  auto file = cpu_file::read(bytes, CpuFileVersion::kV4, "state.CPUManagerCheckpoint");
  int version = 4;
  if (is_newest(file) && !json_syntax_error(file.data)) {
    file = cpu_file::read(file.data, CpuFileVersion::kDataOfV4, "state.CPUManagerCheckpointData");
  } else {
    file = cpu_file::read(bytes, CpuFileVersion::kV3,
                          cpu_file::versioned_go_type(CpuFileVersion::kV3));
    version = file.pods && !file.pods->empty() ? 3 : 2;
    auto by_id = cpu_file::read(bytes, CpuFileVersion::kV1,
                                cpu_file::versioned_go_type(CpuFileVersion::kV1));
    if (!file.error.empty() && by_id.error.empty()) {
      file = std::move(by_id);
      version = 1;
    }
  }
  if (!file.error.empty()) return corrupt(file.error);
  return inspected(std::move(file), version);
}

std::vector<WrongSum> wrong_cpu_sums(std::string_view bytes) {
  using namespace cpu_file;
  return wrong_sums<CpuFileVersion>(
      bytes, CpuFileVersion::kV4,
      {{CpuFileVersion::kV3, "V3"}, {CpuFileVersion::kV2, "V2"}, {CpuFileVersion::kV1, "V1"}},
      [&](CpuFileVersion version) { return read(bytes, version, ""); },
      [](const CpuFile& file, CpuFileVersion version) {
        return has_right_sum(file, version, Names::kAlsoVersioned);
      },
      [](const CpuFile& file, CpuFileVersion version) { return sum_of(file, version); });
}

Salvaged<CpuCheckpoint> salvage_cpu(std::string_view json, const ContainerIds& ids) {
  using namespace cpu_file;
  Salvaged<CpuCheckpoint> out;
  CpuFile file = salvage_fields<CpuFileVersion>(
      json,
      {CpuFileVersion::kV4, CpuFileVersion::kDataOfV4, CpuFileVersion::kV3, CpuFileVersion::kV2});
  out.policy = file.policy;
  const auto parse = [&](const std::string& object, const std::string& list) {
    auto cpus = CpuSet::parse(list);
    if (!cpus) out.lost.push_back({object, "'" + list + "' is not a list of CPUs"});
    return cpus;
  };
  out.state.default_set = parse("shared pool", file.default_set).value_or(CpuSet());
  const CpuFile newest = read(json, CpuFileVersion::kV4, "");
  const CpuFile v1 = read(json, CpuFileVersion::kV1, "");
  if (!is_newest(newest) && v1.error.empty() && v1.by_id) {
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
  out.state.baselines = std::move(file.baselines.sets);
  out.may_have_baselines = newest.data.find("\"baselines\"") != std::string::npos ||
                           close_json(newest.data) != newest.data;
  out.state.pods = file.pods.value_or(PodSets());
  std::erase_if(out.state.pods, [](const auto& pod) { return pod.second.empty(); });
  return out;
}

}  // namespace pinfold::checkpoint
