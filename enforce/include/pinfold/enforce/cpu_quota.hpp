#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pinfold/enforce/group.hpp"

/// Limits of groups that Pinfold did not make: it writes only their cpuset, and these limits can
/// still throttle their processes.
namespace pinfold::enforce {

/// The CFS quota of a group.
struct CpuQuota {
  std::optional<std::int64_t> quota_us;  ///< per period; nullopt: no limit
  std::uint64_t period_us = 0;

  friend bool operator==(const CpuQuota&, const CpuQuota&) = default;
};
/// Reads the quota. Errors: kNotFound if the controller is not enabled for the group; kIo,
/// including for unexpected content.
[[nodiscard]] Result<CpuQuota> read_cpu_quota(const GroupReader& group);
/// Sets or removes the limit. Errors: kNotFound, kIo.
[[nodiscard]] Result<void> write_cpu_quota(const Group& group, const CpuQuota& quota);

/// Reads the group's limit for huge pages of one size ("2MB"), in bytes; nullopt: no limit.
/// Errors: as read_cpu_quota.
[[nodiscard]] Result<std::optional<std::uint64_t>> read_huge_page_limit(const GroupReader& group,
                                                                        const std::string& size);

}  // namespace pinfold::enforce
