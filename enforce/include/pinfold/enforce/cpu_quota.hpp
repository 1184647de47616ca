#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pinfold/enforce/group.hpp"

/// Limits of groups that others have made, and that have only a cpuset here: what throttles their
/// processes, whoever set it.
namespace pinfold::enforce {

/// A group in the hierarchy of a controller.
struct ControllerPart {
  CgroupFs* fs = nullptr;
  std::string path;  ///< in `fs`
  CgroupVersion version = CgroupVersion::kV2;
  std::shared_ptr<CgroupFs> owner;  ///< of `fs`, if the group had no part there
};
/// Where the controller of a group is: on cgroup v1 it can be in another hierarchy.
/// Errors: kNotFound without such a group; kIo.
[[nodiscard]] Result<ControllerPart> open_part(const Group& group, Controller controller);

/// The CFS quota of a group.
struct CpuQuota {
  std::optional<std::int64_t> quota_us;  ///< in each period; nullopt: no limit
  std::uint64_t period_us = 0;

  friend bool operator==(const CpuQuota&, const CpuQuota&) = default;
};
/// Errors: kNotFound if the controller is not enabled for the group; kIo, also for another content.
[[nodiscard]] Result<CpuQuota> read_cpu_quota(const Group& group);
/// Takes the limit away, or sets it. Errors: kNotFound, kIo.
[[nodiscard]] Result<void> write_cpu_quota(const Group& group, const CpuQuota& quota);

/// The limits of a group for huge pages of a size ("2MB"), in bytes; nullopt: no limit.
/// Errors: as read_cpu_quota.
[[nodiscard]] Result<std::optional<std::uint64_t>> read_huge_page_limit(const Group& group,
                                                                        const std::string& size);

}  // namespace pinfold::enforce
