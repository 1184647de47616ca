#include "inverse.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pinfold/api/pod.hpp"
#include "pinfold/decide/linux_resources.hpp"

namespace pinfold::nri {
namespace {

/// More than any machine has; no overflow below it.
constexpr std::int64_t kMaxQuotaUs = 1'000'000'000'000;
constexpr std::int64_t kMostCpus = 256;

}  // namespace

MilliCpu milli_cpu_of_shares(std::uint64_t shares) {
  constexpr std::int64_t kMost = kMostCpus * 1000;
  if (shares >= cpu_shares(kMost)) return {kMost, false};
  if (shares <= cpu_shares(0)) return {0, false};
  // The largest amount that gives no more than these shares; cpu_shares does not decrease.
  const auto milli = static_cast<std::int64_t>(((shares + 1) * 1000 - 1) / 1024);
  return {milli, cpu_shares(milli) == shares && cpu_shares(milli - 1) != shares};
}

MilliCpu milli_cpu_of_quota(std::int64_t quota_us, std::uint64_t period_us) {
  if (period_us < kMinPeriodUs || period_us > kMaxPeriodUs || quota_us > kMaxQuotaUs) return {};
  const auto milli = ((quota_us + 1) * 1000 - 1) / static_cast<std::int64_t>(period_us);
  if (milli == 0) return {};
  return {milli, cpu_quota(milli, period_us) == quota_us &&
                     (milli == 1 || cpu_quota(milli - 1, period_us) != quota_us)};
}

std::optional<std::string> huge_page_resource(std::string_view page_size) {
  constexpr std::string_view kUnits = "KMG";
  constexpr std::size_t kMostDigits = 4;  // 1024
  const auto digits = page_size.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || digits > kMostDigits ||
      page_size.size() != digits + 2 || page_size[digits + 1] != 'B' ||
      kUnits.find(page_size[digits]) == std::string_view::npos || page_size.front() == '0') {
    return std::nullopt;
  }
  return fmt::format("{}{}i", kHugePagesPrefix, page_size.substr(0, digits + 1));
}

}  // namespace pinfold::nri
