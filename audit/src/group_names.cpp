#include "pinfold/audit/group_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

namespace pinfold::audit {
namespace {

constexpr std::string_view kSlice = ".slice";
constexpr std::string_view kScope = ".scope";
constexpr std::string_view kPod = "pod";

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(path.size(), end + 1));
  }
  return parts;
}

bool is_uid(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
  });
}

std::optional<QosClass> qos_of(std::string_view name) {
  if (name == "burstable") return QosClass::kBurstable;
  if (name == "besteffort") return QosClass::kBestEffort;
  return std::nullopt;
}

/// Parses "kubepods-burstable-pod1234_5678.slice", even with the prefix of a cgroup root.
std::optional<KubeletGroup> parse_pod_slice(std::string_view name) {
  if (!name.ends_with(kSlice)) return std::nullopt;
  name.remove_suffix(kSlice.size());
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || !name.substr(dash + 1).starts_with(kPod)) {
    return std::nullopt;
  }
  KubeletGroup group;
  group.driver = Driver::kSystemd;
  std::string uid(name.substr(dash + 1 + kPod.size()));
  std::replace(uid.begin(), uid.end(), '_', '-');
  if (!is_uid(uid)) return std::nullopt;
  group.pod = PodUid(std::move(uid));
  std::string_view above = name.substr(0, dash);
  const std::size_t last = above.rfind('-');
  const auto qos = last == std::string_view::npos ? std::nullopt : qos_of(above.substr(last + 1));
  if (qos) {
    group.qos = *qos;
    above = above.substr(0, last);
  }
  const bool is_below_root = above == "kubepods" || above.ends_with("-kubepods");
  return is_below_root ? std::optional(std::move(group)) : std::nullopt;
}

/// Returns the pod of the group that the first `size` parts of a path name.
std::optional<KubeletGroup> parse_pod(const std::vector<std::string_view>& parts,
                                      std::size_t size) {
  if (size == 0) return std::nullopt;
  if (auto slice = parse_pod_slice(parts[size - 1])) return slice;
  const std::string_view name = parts[size - 1];
  if (size < 2 || !name.starts_with(kPod) || !is_uid(name.substr(kPod.size()))) {
    return std::nullopt;
  }
  KubeletGroup group;
  group.pod = PodUid(std::string(name.substr(kPod.size())));
  if (parts[size - 2] == "kubepods") return group;
  const auto qos = qos_of(parts[size - 2]);
  if (!qos || size < 3 || parts[size - 3] != "kubepods") return std::nullopt;
  group.qos = *qos;
  return group;
}

struct Prefix {
  std::string_view text;
  std::string_view runtime;
  GroupRole role;
};
constexpr std::array kPrefixes = {
    Prefix{"cri-containerd-", "containerd", GroupRole::kContainer},
    Prefix{"crio-conmon-", "cri-o", GroupRole::kMonitor},
    Prefix{"crio-", "cri-o", GroupRole::kContainer},
    Prefix{"docker-", "docker", GroupRole::kContainer},
    Prefix{"", "", GroupRole::kContainer},
};

void parse_container(std::string_view name, KubeletGroup& group) {
  group.role = GroupRole::kOther;
  if (name.ends_with(kScope)) name.remove_suffix(kScope.size());
  for (const Prefix& prefix : kPrefixes) {
    if (!name.starts_with(prefix.text)) continue;
    const std::string_view id = name.substr(prefix.text.size());
    if (!is_runtime_id(id)) continue;
    group.role = prefix.role;
    group.runtime = prefix.runtime;
    group.container = std::string(id);
    return;
  }
}

}  // namespace

std::string_view to_string(Driver driver) {
  return driver == Driver::kSystemd ? "systemd" : "cgroupfs";
}

std::optional<Driver> driver_of_root(std::string_view name) {
  if (name == "kubepods") return Driver::kCgroupfs;
  if (name == "kubepods.slice" || name.ends_with("-kubepods.slice")) return Driver::kSystemd;
  return std::nullopt;
}

std::optional<KubeletGroup> parse_group(std::string_view path) {
  const auto parts = parts_of(path);
  if (auto pod = parse_pod(parts, parts.size())) return pod;
  if (parts.empty()) return std::nullopt;
  auto group = parse_pod(parts, parts.size() - 1);
  if (group) parse_container(parts.back(), *group);
  return group;
}

std::optional<LogName> parse_log_name(std::string_view name) {
  constexpr std::string_view kLog = ".log";
  constexpr std::size_t kId = 64;
  if (!name.ends_with(kLog)) return std::nullopt;
  name.remove_suffix(kLog.size());
  if (name.size() <= kId + 1 || name[name.size() - kId - 1] != '-') return std::nullopt;
  LogName log;
  log.id = std::string(name.substr(name.size() - kId));
  name.remove_suffix(kId + 1);
  const std::size_t first = name.find('_');
  const std::size_t second = name.find('_', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  log.pod = std::string(name.substr(0, first));
  log.namespace_name = std::string(name.substr(first + 1, second - first - 1));
  log.container = std::string(name.substr(second + 1));
  const bool is_complete =
      !log.pod.empty() && !log.namespace_name.empty() && !log.container.empty();
  return is_complete && is_runtime_id(log.id) ? std::optional(std::move(log)) : std::nullopt;
}

bool is_runtime_id(std::string_view text) {
  constexpr std::size_t kDigits = 64;
  return text.size() == kDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace pinfold::audit
