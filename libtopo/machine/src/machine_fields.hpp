#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

/// Fields that both JSON forms of a machine share.
namespace pinfold {

inline constexpr std::uint64_t kMaxId = 1U << 30U;
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62U;

/// Returns whether `value` is a whole number from 0 to `limit`. JSON built in memory may hold it as
/// a signed number.
[[nodiscard]] bool is_whole(const nlohmann::json& value, std::uint64_t limit);

/// Reads the member `key`, a whole number from 0 to `limit`. Errors: kInvalidArgument, "where.key:
/// ...".
[[nodiscard]] Result<std::uint64_t> number(const nlohmann::json& object, const char* key,
                                           const std::string& where, std::uint64_t limit);

template <class Id>
Result<void> read_id(const nlohmann::json& object, const char* key, const std::string& where,
                     Id& out) {
  PINFOLD_LET(auto value, number(object, key, where, kMaxId));
  out = Id{static_cast<std::int32_t>(value)};
  return {};
}

/// Reads a page size: "hugepages-2Mi" from "hugepages-2Mi", "2Mi" or "2048Ki".
/// Errors: kInvalidArgument for anything but a size of whole KiB.
[[nodiscard]] Result<std::string> parse_page_size(std::string_view name);
/// Returns the bytes of a page. Domain: what parse_page_size returns.
[[nodiscard]] std::uint64_t page_bytes(std::string_view page_size);

}  // namespace pinfold
