#include "pinfold/checkpoint/kubelet.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pinfold/checkpoint/go_json.hpp"

namespace pinfold::checkpoint {
namespace {

constexpr int kVersions[] = {4, 3, 2, 1};

/// Returns the versions from `newest` down to `oldest`.
constexpr std::span<const int> down(int newest, int oldest) {
  return std::span(kVersions).subspan(static_cast<std::size_t>(4 - newest),
                                      static_cast<std::size_t>(newest - oldest + 1));
}

constexpr int kOldestFirst[] = {1, 2};

constexpr KubeletFormats kKubelets[] = {
    {{35, false}, {2, 1}, kOldestFirst, down(1, 1)}, {{36, false}, {2, 1}, down(2, 1), down(1, 1)},
    {{36, true}, {3, 2}, down(3, 1), down(2, 1)},    {{37, false}, {4, 3}, down(4, 2), down(3, 1)},
    {{37, true}, {4, 3}, down(4, 2), down(3, 1)},    {{38, false}, {4, 3}, down(4, 2), down(3, 1)},
    {{38, true}, {4, 3}, down(4, 2), down(3, 1)},
};

/// Returns true if a file is CPU V4 or memory V3, whether or not it is valid.
bool has_data(std::string_view bytes) {
  if (json_syntax_error(bytes)) return false;
  std::string data;
  std::uint64_t checksum = 0;
  JsonReader json(bytes);
  json.structure("", JsonReader::Field{"data", [&] { json.read(data); }},
                 JsonReader::Field{"dataChecksum", [&] { json.read(checksum); }});
  return !data.empty() || checksum != 0;
}

}  // namespace

std::span<const KubeletFormats> kubelets() { return kKubelets; }

const KubeletFormats& formats_of(const Kubelet& kubelet) {
  return *std::find_if(std::begin(kKubelets), std::end(kKubelets),
                       [&](const KubeletFormats& known) { return known.kubelet == kubelet; });
}

CpuFormat cpu_format(const Formats& formats) {
  return formats.cpu == 2 ? CpuFormat::kV2 : formats.cpu == 3 ? CpuFormat::kV3 : CpuFormat::kV4;
}

MemoryFormat memory_format(const Formats& formats) {
  return formats.memory == 1   ? MemoryFormat::kV1
         : formats.memory == 2 ? MemoryFormat::kV2
                               : MemoryFormat::kV3;
}

std::string to_string(const Kubelet& kubelet) {
  return fmt::format("1.{}, gate {}", kubelet.minor, kubelet.pod_level_gate ? "on" : "off");
}

Profile profile_of(const Kubelet& kubelet) {
  switch (kubelet.minor) {
    case 37:
      return Profile::kKubelet137;
    case 38:
      return Profile::kKubelet138;
    default:
      return Profile::kKubelet136;
  }
}

Kubelet kubelet_of(const Node& node) {
  const bool gate = node.gates().pod_level_resource_managers;
  for (const KubeletFormats& known : kKubelets) {
    const bool is_own = known.kubelet.minor != 35 && known.kubelet.pod_level_gate == gate;
    if (is_own && profile_of(known.kubelet) == node.config().profile) return known.kubelet;
  }
  return {36, gate};
}

Kubelet reader_of(const Node& node, std::string_view bytes) {
  Kubelet kubelet = kubelet_of(node);
  if (node.config().profile == Profile::kFixed && has_data(bytes)) kubelet.minor = 38;
  return kubelet;
}

std::string write_cpu(const CpuCheckpoint& state, std::string_view policy, const Kubelet& kubelet) {
  return encode_cpu(state, policy, cpu_format(formats_of(kubelet).writes));
}

std::string write_memory(const MemoryCheckpoint& state, std::string_view policy,
                         const Kubelet& kubelet) {
  return encode_memory(state, policy, memory_format(formats_of(kubelet).writes));
}

}  // namespace pinfold::checkpoint
