#include "machine_fields.hpp"

#include <fmt/format.h>

#include "pinfold/text/field.hpp"
#include "pinfold/types/quantity.hpp"

namespace pinfold {

using nlohmann::json;

namespace {

constexpr std::string_view kPrefix = "hugepages-";

}  // namespace

bool is_whole(const json& value, std::uint64_t limit) {
  return value.is_number_integer() && value >= 0 && value.get<std::uint64_t>() <= limit;
}

Result<std::uint64_t> number(const json& object, const char* key, const std::string& where,
                             std::uint64_t limit) {
  const auto it = object.find(key);
  const std::string field = fmt::format("{}.{}", where, printable(key));
  if (it == object.end()) return fail(ErrorCode::kInvalidArgument, field + ": missing");
  if (!is_whole(*it, limit)) {
    return fail_field(field, *it, fmt::format("expected a whole number from 0 to {}", limit));
  }
  return it->get<std::uint64_t>();
}

Result<std::string> parse_page_size(std::string_view name) {
  const std::string_view size = name.substr(name.starts_with(kPrefix) ? kPrefix.size() : 0);
  const auto bytes = Quantity::parse(size);
  if (bytes && bytes->is_whole() && bytes->sign() > 0 && bytes->value() % 1024 == 0) {
    return fmt::format("{}{}", kPrefix, Quantity::bytes(bytes->value()).to_string());
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected a page size such as 'hugepages-2Mi'", printable(name)));
}

std::uint64_t page_bytes(std::string_view page_size) {
  return static_cast<std::uint64_t>(
      Quantity::parse(page_size.substr(kPrefix.size())).value().value());
}

}  // namespace pinfold
