#include "pinfold/enforce/cpu_quota.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "pinfold/base/read_file.hpp"

namespace pinfold::enforce {
namespace {

constexpr const char* kV2Max = "cpu.max";
constexpr const char* kV1Quota = "cpu.cfs_quota_us";
constexpr const char* kV1Period = "cpu.cfs_period_us";

bool has(const HierarchyRoot& hierarchy, Controller controller) {
  const auto& all = hierarchy.controllers;
  return std::find(all.begin(), all.end(), controller) != all.end();
}

/// Returns the controllers of a directory in a cgroup2 mount; "" if there are none.
std::string controllers_in(const std::string& directory) {
  return read_file(directory + "/cgroup.controllers").value_or("");
}

/// A group in the hierarchy of one controller.
struct ControllerPart {
  CgroupFiles* fs = nullptr;
  std::string path;  ///< in `fs`
  CgroupVersion version = CgroupVersion::kV2;
  std::shared_ptr<CgroupFiles> owner;  ///< owns `fs` if it was opened for this part
};

/// Opens the same group in another hierarchy of this machine.
Result<ControllerPart> open_elsewhere(const GroupReader& group, Controller controller) {
  PINFOLD_LET(const auto text, read_file("/proc/self/mountinfo"));
  PINFOLD_LET(const auto mounts, parse_mountinfo(text));
  PINFOLD_LET(const auto roots, locate(mounts, group.directory, controllers_in));
  const auto found = std::find_if(roots.begin(), roots.end(),
                                  [&](const HierarchyRoot& root) { return has(root, controller); });
  if (found == roots.end()) {
    return fail(ErrorCode::kNotFound, fmt::format("'{}': controller '{}' is not mounted",
                                                  group.directory, to_string(controller)));
  }
  PINFOLD_LET(std::shared_ptr<CgroupFs> fs, open_named_cgroup_fs(found->directory));
  return ControllerPart{fs.get(), "", found->version, fs};
}

template <class Number>
Result<Number> parse(const GroupReader& group, std::string_view file, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return fail(ErrorCode::kIo, fmt::format("'{}/{}': '{}': expected a number", group.directory, file,
                                          text.substr(0, 40)));
}

/// Finds the group in the hierarchy of a controller, which on cgroup v1 can be a different one.
/// Errors: kNotFound if it has no such group; kIo.
Result<ControllerPart> open_part(const GroupReader& group, Controller controller) {
  for (const GroupReader::Part& part : group.parts) {
    const bool is_v2 = part.hierarchy->version == CgroupVersion::kV2;
    if ((is_v2 && group.parts.size() == 1) || has(*part.hierarchy, controller)) {
      return ControllerPart{part.fs, part.path, part.hierarchy->version, group.adopted};
    }
  }
  if (group.is_this_kernel()) return open_elsewhere(group, controller);
  return fail(ErrorCode::kNotFound,
              fmt::format("'{}': no controller '{}'", group.directory, to_string(controller)));
}

}  // namespace

Result<CpuQuota> read_cpu_quota(const GroupReader& group) {
  PINFOLD_LET(const auto part, open_part(group, Controller::kCpu));
  std::string quota;
  std::string period;
  if (part.version == CgroupVersion::kV2) {
    PINFOLD_LET(const auto both, part.fs->read(part.path, kV2Max));
    const auto blank = std::min(both.find(' '), both.size());
    quota = both.substr(0, blank);
    period = both.substr(std::min(blank + 1, both.size()));
  } else {
    PINFOLD_LET(quota, part.fs->read(part.path, kV1Quota));
    PINFOLD_LET(period, part.fs->read(part.path, kV1Period));
  }
  CpuQuota out;
  PINFOLD_LET(out.period_us, parse<std::uint64_t>(group, "cpu period", period));
  if (quota == "max") return out;
  PINFOLD_LET(const auto value, parse<std::int64_t>(group, "cpu quota", quota));
  if (value >= 0) out.quota_us = value;
  return out;
}

Result<void> write_cpu_quota(const Group& group, const CpuQuota& quota) {
  PINFOLD_LET(const auto part, open_part(group, Controller::kCpu));
  auto& fs = static_cast<CgroupFs&>(*part.fs);  // as the group may be written
  if (part.version == CgroupVersion::kV2) {
    const std::string value =
        quota.quota_us ? fmt::format("{} {}", *quota.quota_us, quota.period_us) : "max";
    return fs.write(part.path, kV2Max, value);
  }
  if (!quota.quota_us) return fs.write(part.path, kV1Quota, "-1");
  PINFOLD_TRY(fs.write(part.path, kV1Period, std::to_string(quota.period_us)));
  return fs.write(part.path, kV1Quota, std::to_string(*quota.quota_us));
}

Result<std::optional<std::uint64_t>> read_huge_page_limit(const GroupReader& group,
                                                          const std::string& size) {
  PINFOLD_LET(const auto part, open_part(group, Controller::kHugetlb));
  const bool is_v2 = part.version == CgroupVersion::kV2;
  const std::string file = fmt::format("hugetlb.{}.{}", size, is_v2 ? "max" : "limit_in_bytes");
  PINFOLD_LET(const auto text, part.fs->read(part.path, file));
  if (text == "max") return std::nullopt;
  PINFOLD_LET(const auto bytes, parse<std::uint64_t>(group, file, text));
  return bytes;
}

}  // namespace pinfold::enforce
