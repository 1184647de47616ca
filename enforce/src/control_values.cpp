#include "pinfold/enforce/control_values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pinfold::enforce {
namespace {

constexpr std::uint64_t kMinSharesV1 = 2;
constexpr std::uint64_t kMaxSharesV1 = 262144;
constexpr std::uint64_t kDefaultPeriodUs = 100'000;

void add_cpu(Values& out, const LinuxResources& resources, GroupLevel level,
             CgroupVersion version) {
  const bool is_limited = resources.cpu_quota.value_or(0) > 0;
  const std::uint64_t period = resources.cpu_period.value_or(kDefaultPeriodUs);
  if (version == CgroupVersion::kV2) {
    out["cpu.weight"] =
        std::to_string(level == GroupLevel::kPod ? cpu_weight(resources.cpu_shares)
                                                 : cpu_weight_runtime(resources.cpu_shares));
    if (resources.cpu_quota) {
      out["cpu.max"] = is_limited ? fmt::format("{} {}", *resources.cpu_quota, period)
                                  : fmt::format("max {}", period);
    }
    return;
  }
  out["cpu.shares"] = std::to_string(std::clamp(resources.cpu_shares, kMinSharesV1, kMaxSharesV1));
  if (resources.cpu_quota) {
    out["cpu.cfs_period_us"] = std::to_string(period);
    out["cpu.cfs_quota_us"] = is_limited ? std::to_string(*resources.cpu_quota) : "-1";
  }
}

/// Writes all three, so that an earlier configuration leaves nothing behind.
void add_memory_qos(Values& out, const MemoryQos& qos, std::uint64_t page_size) {
  const auto in_pages = [&](std::int64_t bytes) {
    return std::to_string(static_cast<std::uint64_t>(bytes) / page_size * page_size);
  };
  out["memory.min"] = in_pages(qos.min);
  out["memory.low"] = in_pages(qos.low);
  out["memory.high"] = qos.high ? in_pages(*qos.high) : "max";
}

}  // namespace

Values values_of(const LinuxResources& resources, GroupLevel level, const KernelFacts& facts) {
  Values out;
  const auto version = [&](Controller controller) {
    const auto it = facts.controllers.find(controller);
    return it == facts.controllers.end() ? std::nullopt : std::optional(it->second);
  };
  if (const auto cpu = version(Controller::kCpu)) add_cpu(out, resources, level, *cpu);
  if (const auto memory = version(Controller::kMemory);
      memory && resources.memory_limit.value_or(0) > 0) {
    const auto bytes = static_cast<std::uint64_t>(*resources.memory_limit);
    out[*memory == CgroupVersion::kV2 ? "memory.max" : "memory.limit_in_bytes"] =
        std::to_string(bytes / facts.page_size * facts.page_size);
  }
  if (const auto memory = version(Controller::kMemory);
      memory == CgroupVersion::kV2 && resources.memory_qos) {
    add_memory_qos(out, *resources.memory_qos, facts.page_size);
  }
  if (const auto hugetlb = version(Controller::kHugetlb)) {
    for (const auto& [size, limit] : resources.hugepage_limits) {
      const auto bytes = facts.hugepage_sizes.find(size);
      if (bytes == facts.hugepage_sizes.end()) continue;
      const char* const file = *hugetlb == CgroupVersion::kV2 ? "max" : "limit_in_bytes";
      out[fmt::format("hugetlb.{}.{}", size, file)] =
          std::to_string(limit / bytes->second * bytes->second);
    }
  }
  return out;
}

}  // namespace pinfold::enforce
