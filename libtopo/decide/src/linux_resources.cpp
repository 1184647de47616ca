#include "pinfold/decide/linux_resources.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pinfold {
namespace {

constexpr std::uint64_t kMinShares = 2;
constexpr std::uint64_t kMaxShares = 262144;
constexpr std::int64_t kMinQuotaUs = 1000;

}  // namespace

std::uint64_t cpu_shares(std::int64_t milli_cpu) {
  if (milli_cpu <= 0) return kMinShares;
  // Checked before the multiplication, which could overflow.
  if (milli_cpu > static_cast<std::int64_t>(kMaxShares)) return kMaxShares;
  return std::clamp(static_cast<std::uint64_t>(milli_cpu) * 1024 / 1000, kMinShares, kMaxShares);
}

std::int64_t cpu_quota(std::int64_t milli_cpu, std::uint64_t period_us) {
  if (milli_cpu == 0) return 0;
  const auto period = static_cast<std::int64_t>(period_us);
  if (milli_cpu > std::numeric_limits<std::int64_t>::max() / period) {
    return std::numeric_limits<std::int64_t>::max() / 1000;
  }
  return std::max(milli_cpu * period / 1000, kMinQuotaUs);
}

std::uint64_t cpu_weight(std::uint64_t shares) {
  if (shares >= kMaxShares) return 10000;
  return 1 + (std::max(shares, kMinShares) - 2) * 9999 / 262142;
}

std::uint64_t cpu_weight_runtime(std::uint64_t shares) {
  if (shares <= kMinShares) return 1;
  if (shares >= kMaxShares) return 10000;
  const double log = std::log2(static_cast<double>(shares));
  const double exponent = (log * log + 125 * log) / 612.0 - 7.0 / 34.0;
  return static_cast<std::uint64_t>(std::ceil(std::pow(10, exponent)));
}

}  // namespace pinfold
