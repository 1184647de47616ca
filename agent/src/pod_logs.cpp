#include "pinfold/agent/pod_logs.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "pinfold/api/pod.hpp"

namespace pinfold::agent {

std::optional<PodRef> parse_pod_log_name(std::string_view name) {
  if (std::count(name.begin(), name.end(), '_') != 2) return std::nullopt;
  const std::size_t first = name.find('_');
  const std::size_t last = name.rfind('_');
  const std::string_view space = name.substr(0, first);
  const std::string_view pod = name.substr(first + 1, last - first - 1);
  const std::string_view uid = name.substr(last + 1);
  if (!is_safe_name(space) || !is_safe_name(pod) || !is_safe_name(uid)) return std::nullopt;
  return PodRef{PodUid(std::string(uid)), std::string(space), std::string(pod)};
}

PodNames names_in_pod_logs(const std::string& directory, const std::set<PodUid>& pods) {
  PodNames names;
  if (directory.empty() || pods.empty()) return names;
  std::error_code failed;
  std::filesystem::directory_iterator entry(directory, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    auto pod = parse_pod_log_name(entry->path().filename().native());
    if (!pod || !pods.contains(pod->uid)) continue;
    const PodUid uid = pod->uid;
    names.insert_or_assign(uid, *std::move(pod));
  }
  return names;
}

}  // namespace pinfold::agent
