#include "pinfold/checkpoint/sealed.hpp"

#include <fmt/format.h>

#include "crc64.hpp"

namespace pinfold::checkpoint {

std::string seal_line(std::string_view kind, std::uint64_t sum) {
  return fmt::format("#{} crc64 {:016x}\n", kind, sum);
}

std::string seal(std::string_view kind, std::string_view body) {
  return seal_line(kind, crc64(body)).append(body);
}

Result<std::string_view> unseal(std::string_view kind, std::string_view text) {
  constexpr std::string_view kFirstOfEarlierVersions = "{0123456789";
  if (!text.empty() && kFirstOfEarlierVersions.find(text.front()) != std::string_view::npos) {
    return text;
  }
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(fmt::format("#{} crc64 ", kind))) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("expected a first line '#{} crc64 CHECKSUM'", kind));
  }
  const std::string_view body = text.substr(end + 1);
  const std::string expected = seal_line(kind, crc64(body));
  if (text.substr(0, end + 1) == expected) return body;
  return fail(ErrorCode::kCorrupt,
              fmt::format("wrong checksum: the first line is '{}', expected '{}'",
                          text.substr(0, end), expected.substr(0, expected.size() - 1)));
}

}  // namespace pinfold::checkpoint
