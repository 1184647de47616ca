#include "pinfold/checkpoint/journal.hpp"

#include <fmt/format.h>

#include <charconv>

namespace pinfold::checkpoint {
namespace {

constexpr std::string_view kMagic = "pinfold-journal";
constexpr std::string_view kVersion = "1";

constexpr std::string_view kNoFile = "-";

tl::unexpected<Error> torn(std::string_view what) {
  return fail(ErrorCode::kCorrupt, fmt::format("journal: {}", what));
}

/// Cuts `text` after the first `end` and returns what is before it.
std::optional<std::string_view> take_until(std::string_view& text, char end) {
  const std::size_t found = text.find(end);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view head = text.substr(0, found);
  text.remove_prefix(found + 1);
  return head;
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> hash_of_text(std::string_view text) {
  return text.size() == 16 ? number(text, 16) : std::nullopt;
}

/// "NAME BEFORE AFTER\n" off the front of `rest`.
bool take_entry(std::string_view& rest, Changes& changes) {
  const auto name = take_until(rest, ' ');
  const auto before_text = take_until(rest, ' ');
  const auto after_text = take_until(rest, '\n');
  if (!name || !before_text || !after_text) return false;
  const auto before = hash_of_text(*before_text);
  const auto after = hash_of_text(*after_text);
  if ((!before && *before_text != kNoFile) || !after) return false;
  changes[std::string(*name)] = {before, *after};
  return true;
}

}  // namespace

std::uint64_t fnv1a_64(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

std::string encode_journal(const Changes& changes) {
  std::string body;
  for (const auto& [name, change] : changes) {
    const auto before =
        change.before ? fmt::format("{:016x}", *change.before) : std::string(kNoFile);
    body += fmt::format("{} {} {:016x}\n", name, before, change.after);
  }
  return fmt::format("{} {} {:016x} {}\n{}", kMagic, kVersion, fnv1a_64(body), body.size(), body);
}

Result<Changes> decode_journal(std::string_view bytes) {
  std::string_view rest = bytes;
  const auto magic = take_until(rest, ' ');
  const auto version = take_until(rest, ' ');
  const auto hash = take_until(rest, ' ');
  const auto size = take_until(rest, '\n');
  if (!magic || *magic != kMagic || !version || !hash || !size) return torn("incomplete header");
  if (number(*size, 10) != rest.size()) {
    return torn(fmt::format("{} bytes after the header, expected {}", rest.size(), *size));
  }
  if (*hash != fmt::format("{:016x}", fnv1a_64(rest))) return torn("wrong checksum");
  if (*version != kVersion) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("journal: version '{}', expected '{}'", *version, kVersion));
  }
  Changes changes;
  while (!rest.empty()) {
    if (!take_entry(rest, changes)) return torn("bad entry");
  }
  return changes;
}

}  // namespace pinfold::checkpoint
