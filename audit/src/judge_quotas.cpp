#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "expectations.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::audit {
namespace {

using Owners = std::vector<const Placed*>;

/// Returns the command that removes a limit; systemd manages the limits of its own units.
std::string unlimit(const Case& given, const std::string& path, bool is_pods) {
  const bool is_v2 = given.observed.cgroups.version == enforce::CgroupVersion::kV2;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (!is_pods && (name.ends_with(".slice") || name.ends_with(".service"))) {
    return fmt::format("systemctl set-property '{}' CPUQuota=", name);
  }
  return is_v2 ? fmt::format("echo max > '{}/{}/cpu.max'", given.observed.cgroups.mount, path)
               : fmt::format("echo -1 > '{}/{}/cpu.cfs_quota_us'", given.observed.cgroups.cpu_mount,
                             path);
}

std::string limit_text(const ObservedLimit& limit) {
  constexpr double kUsPerS = 1e6;
  const std::string quota =
      fmt::format("quota of {} us in {} us, which ", *limit.quota.quota_us, limit.quota.period_us);
  if (limit.throttled.periods == 0) return quota + "has not throttled it yet";
  std::string text =
      fmt::format("{}has throttled it in {} periods", quota, limit.throttled.periods);
  if (limit.throttled.usec > 0) {
    text += fmt::format(" for {:.1f} s", static_cast<double>(limit.throttled.usec) / kUsPerS);
  }
  return text;
}

/// Returns the finding for a limit of group `path`: the container's own group or one above it.
Finding finding_of(const Case& given, const std::string& path, const ObservedLimit& limit,
                   Subject subject, const std::string& what, bool is_pods) {
  return {"quota",
          limit.throttled.periods > 0 ? Severity::kWarning : Severity::kNote,
          std::move(subject),
          fmt::format("{} {}", *limit.quota.quota_us, limit.quota.period_us),
          "no quota",
          fmt::format("{} a {}", what, limit_text(limit)),
          fmt::format("grep throttled '{}{}/{}/cpu.stat'", given.observed.root,
                      given.observed.cgroups.cpu_mount, path),
          unlimit(given, path, is_pods)};
}

std::string owners_text(const Owners& owners) {
  std::vector<std::string> names;
  names.reserve(owners.size());
  for (const auto* const owner : owners) names.push_back(fmt::format("'{}'", owner->audited.label));
  return listed(first_named(std::move(names), 1, "more"));
}

const ObservedGroup* group_at(const Case& given, const std::string& path) {
  for (const ObservedGroup& group : given.observed.cgroups.groups) {
    if (group.path == path) return &group;
  }
  return nullptr;
}

}  // namespace

void judge_quotas(const Case& given, std::vector<Finding>& findings) {
  std::map<std::string, Owners> above;  // containers with exclusive CPUs, by group above
  for (const Placed& placed : given.containers) {
    if (!placed.audited.is_exclusive || placed.group == nullptr) continue;
    const std::string& path = placed.group->path;
    if (placed.group->limit.quota.quota_us) {
      findings.push_back(finding_of(given, path, placed.group->limit, subject_of(placed.audited),
                                    "has exclusive CPUs and", true));
    }
    for (std::size_t end = path.rfind('/'); end != std::string::npos && end > 0;
         end = path.rfind('/', end - 1)) {
      above[path.substr(0, end)].push_back(&placed);
    }
  }
  for (const auto& [path, owners] : above) {
    const ObservedGroup* const pod = group_at(given, path);
    const auto higher = given.observed.cgroups.limits.find(path);
    const ObservedLimit* const limit = pod != nullptr ? &pod->limit
                                       : higher != given.observed.cgroups.limits.end()
                                           ? &higher->second
                                           : nullptr;
    if (limit == nullptr || !limit->quota.quota_us) continue;
    Subject subject{"group", path};
    if (pod != nullptr) subject.pod = PodRef{pod->name.pod, {}, {}};
    findings.push_back(
        finding_of(given, path, *limit, std::move(subject),
                   fmt::format("contains {}, which {} exclusive CPUs, and has", owners_text(owners),
                               owners.size() == 1 ? "has" : "have"),
                   pod != nullptr));
  }
}

}  // namespace pinfold::audit
