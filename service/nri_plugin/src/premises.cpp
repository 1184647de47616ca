#include "pinfold/nri_plugin/premises.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "pinfold/base/read_file.hpp"
#include "pinfold/enforce/mounts.hpp"

namespace pinfold::nri {

Result<std::string> cgroup_mount_of(const std::string& directory) {
  PINFOLD_LET(const auto text, read_file("/proc/self/mountinfo"));
  PINFOLD_LET(const auto mounts, enforce::parse_mountinfo(text));
  std::string found;
  for (const enforce::Mount& mount : mounts) {
    const bool is_cgroup = mount.fs_type == "cgroup" || mount.fs_type == "cgroup2";
    const bool contains = (directory + "/").starts_with(mount.point + "/");
    if (is_cgroup && contains && mount.point.size() > found.size()) found = mount.point;
  }
  if (!found.empty()) return found;
  return fail(ErrorCode::kNotFound, fmt::format("'{}' is in no cgroup mount", directory));
}

Result<void> check_kubelet(const std::string& root) {
  const std::string file = root + "/cpu_manager_state";
  const auto text = read_file(file);
  if (!text && text.error().code == ErrorCode::kNotFound) return {};
  if (!text) return fail(text.error());
  const auto state = nlohmann::json::parse(*text, nullptr, false);
  const bool is_static =
      state.is_object() && state.value("policyName", nlohmann::json()) == "static";
  if (!is_static) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("nri: '{}': the kubelet's own CPU manager has the policy static: set "
                          "cpuManagerPolicy: none, remove this file and restart the kubelet; or "
                          "use 'mode: observe'",
                          file));
}

}  // namespace pinfold::nri
