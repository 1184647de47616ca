#include "eviction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "pinfold/text/go_duration.hpp"

namespace pinfold {
namespace {

using Thresholds = std::map<std::string, std::string>;

constexpr std::string_view kMemorySignal = "memory.available";
constexpr std::array<std::string_view, 9> kSignals = {"allocatableMemory.available",
                                                      "containerfs.available",
                                                      "containerfs.inodesFree",
                                                      "imagefs.available",
                                                      "imagefs.inodesFree",
                                                      kMemorySignal,
                                                      "nodefs.available",
                                                      "nodefs.inodesFree",
                                                      "pid.available"};

tl::unexpected<Error> invalid_threshold(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Result<void> check_signal(const std::string& signal) {
  if (std::find(kSignals.begin(), kSignals.end(), signal) != kSignals.end()) return {};
  return invalid_threshold("unsupported eviction signal " + signal);
}

/// Returns 10 for "10%"; nullopt if it is not a number.
std::optional<double> percentage_of(std::string_view text) {
  text.remove_suffix(1);
  double percent = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return percent;
}

Result<void> check_threshold(const std::string& signal, const std::string& text) {
  PINFOLD_TRY(check_signal(signal));
  if (text.ends_with('%')) {
    const auto percent = percentage_of(text);
    if (percent && *percent >= 0 && *percent <= 100) return {};
    return invalid_threshold(fmt::format(
        "eviction percentage threshold {} must be >= 0% and <= 100%: {}", signal, text));
  }
  PINFOLD_LET(const auto quantity, Quantity::parse(text));
  if (quantity.sign() > 0) return {};
  return invalid_threshold(fmt::format("eviction threshold {} must be positive: {}", signal, text));
}

Result<void> check_thresholds(const Thresholds& thresholds) {
  for (const auto& [signal, text] : thresholds) PINFOLD_TRY(check_threshold(signal, text));
  return {};
}

Result<void> check_grace_periods(const Thresholds& periods) {
  for (const auto& [signal, text] : periods) {
    PINFOLD_TRY(check_signal(signal));
    PINFOLD_LET(const auto period, go::parse_duration(text));
    if (period >= 0) continue;
    return invalid_threshold(
        fmt::format("invalid eviction grace period specified: {}, must be a positive value", text));
  }
  return {};
}

Result<void> check_reclaims(const Thresholds& reclaims) {
  for (const auto& [signal, text] : reclaims) {
    PINFOLD_TRY(check_signal(signal));
    if (text.ends_with('%')) {
      const auto percent = percentage_of(text);
      if (percent && *percent > 0) continue;
      return invalid_threshold(
          fmt::format("eviction percentage minimum reclaim {} must be positive: {}", signal, text));
    }
    PINFOLD_LET(const auto quantity, Quantity::parse(text));
    if (quantity.sign() >= 0) continue;
    return invalid_threshold("negative eviction minimum reclaim specified for " + signal);
  }
  return {};
}

}  // namespace

Result<std::optional<Quantity>> hard_memory_threshold(const Machine& machine,
                                                      const Config& config) {
  std::string text = "100Mi";
  if (config.eviction_hard) {
    PINFOLD_TRY(check_thresholds(*config.eviction_hard));
    const auto listed = config.eviction_hard->find(std::string(kMemorySignal));
    if (listed == config.eviction_hard->end()) return std::optional<Quantity>();
    text = listed->second;
  }
  if (text == "0%" || text == "100%") return std::optional<Quantity>();
  if (text.ends_with('%')) {
    // In single precision as in the kubelet, because it determines the number of bytes.
    const float fraction = static_cast<float>(percentage_of(text).value_or(0)) / 100;
    return std::optional(Quantity::bytes(static_cast<std::int64_t>(
        static_cast<double>(machine.memory()) * static_cast<double>(fraction))));
  }
  PINFOLD_LET(auto quantity, Quantity::parse(text));
  return std::optional(quantity);
}

Result<void> check_soft_eviction(const Config& config) {
  PINFOLD_TRY(check_thresholds(config.eviction_soft));
  PINFOLD_TRY(check_grace_periods(config.eviction_soft_grace_period));
  PINFOLD_TRY(check_reclaims(config.eviction_minimum_reclaim));
  for (const auto& [signal, text] : config.eviction_soft) {
    if (text == "0%" || text == "100%" || config.eviction_soft_grace_period.contains(signal)) {
      continue;
    }
    return invalid_threshold("grace period must be specified for the soft eviction threshold " +
                             signal);
  }
  return {};
}

}  // namespace pinfold
