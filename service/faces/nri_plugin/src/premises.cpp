#include "pinfold/nri_plugin/premises.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "pinfold/api/config_document.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/enforce/mounts.hpp"
#include "pinfold/nri_plugin/group_path.hpp"

namespace pinfold::nri {
namespace {

/// Splits a path into its parts.
std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(path.size(), end + 1));
  }
  return parts;
}

}  // namespace

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

std::set<std::string> kubepods_of_configuration(const std::string& mount, const std::string& file) {
  const auto read =
      read_file(file).and_then([](const std::string& text) { return read_config_document(text); });
  if (!read) return {};
  const nlohmann::json root = read->document.value("cgroupRoot", nlohmann::json());
  if (!root.is_string()) return {};
  std::set<std::string> found;
  std::string slice;  // the kubelet joins the parts with dashes and escapes dashes in them
  for (const std::string_view part : split(root.get_ref<const std::string&>())) {
    for (const char c : part) slice += c == '-' ? '_' : c;
    slice += '-';
  }
  const std::string plain = root.get<std::string>() + "/kubepods";
  for (const std::string& parent : {plain, slice + "kubepods.slice"}) {
    if (auto directory = pod_directory(mount, parent)) found.insert(*std::move(directory));
  }
  return found;
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
