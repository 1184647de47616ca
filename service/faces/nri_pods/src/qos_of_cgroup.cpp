#include "pinfold/nri_pods/qos_of_cgroup.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace pinfold::nri {
namespace {

constexpr std::string_view kSlice = ".slice";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// Derives the class from the names of the groups between the kubelet's root and the pod.
std::optional<QosClass> qos_of(const std::vector<std::string_view>& names,
                               std::string_view pod_group) {
  constexpr std::string_view kRoot = "kubepods";
  const std::size_t size = names.size();
  if (size < 2 || names[size - 1] != pod_group) return std::nullopt;
  if (names[size - 2] == kRoot) return QosClass::kGuaranteed;
  if (size < 3 || names[size - 3] != kRoot) return std::nullopt;
  if (names[size - 2] == "burstable") return QosClass::kBurstable;
  if (names[size - 2] == "besteffort") return QosClass::kBestEffort;
  return std::nullopt;
}

}  // namespace

std::optional<QosClass> qos_of_cgroup(std::string_view cgroup_parent, const PodUid& uid) {
  std::string pod_group = "pod" + uid.value;
  const auto directories = split(cgroup_parent, '/');
  if (directories.empty() || !directories.back().ends_with(kSlice)) {
    return qos_of(directories, pod_group);
  }
  // The name of a slice contains the names of those above it, with '-' in a name written as '_'.
  std::replace(pod_group.begin(), pod_group.end(), '-', '_');
  std::string_view slice = directories.back();
  slice.remove_suffix(kSlice.size());
  return qos_of(split(slice, '-'), pod_group);
}

}  // namespace pinfold::nri
