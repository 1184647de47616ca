#include "pinfold/checkpoint/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace pinfold::checkpoint {
namespace {

constexpr std::string_view kMagic = "pinfold-journal";
constexpr std::string_view kVersion = "2";

constexpr std::string_view kNoFile = "-";

/// Cuts `text` after the first `end` and returns what is before it.
std::optional<std::string_view> take_until(std::string_view& text, char end) {
  const std::size_t found = text.find(end);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view head = text.substr(0, found);
  text.remove_prefix(found + 1);
  return head;
}

std::optional<std::string_view> take(std::string_view& text, std::uint64_t size) {
  if (size > text.size()) return std::nullopt;
  const std::string_view head = text.substr(0, size);
  text.remove_prefix(size);
  return head;
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

/// "NAME BEFORE SIZE\nBYTES" off the front of `rest`.
bool take_entry(std::string_view& rest, Changes& changes) {
  const auto name = take_until(rest, ' ');
  const auto before_text = take_until(rest, ' ');
  const auto size_text = take_until(rest, '\n');
  if (!name || !before_text || !size_text) return false;
  const auto before = before_text->size() == 16 ? number(*before_text, 16) : std::nullopt;
  const auto size = number(*size_text, 10);
  if ((!before && *before_text != kNoFile) || !size) return false;
  const auto bytes = take(rest, *size);
  if (!bytes) return false;
  changes[std::string(*name)] = {before, std::string(*bytes)};
  return true;
}

/// One record and what pads it off the front of `rest`; nullopt if it is not complete.
Result<std::optional<Changes>> take_record(std::string_view& rest) {
  const std::size_t begin = rest.size();
  const auto magic = take_until(rest, ' ');
  const auto version = take_until(rest, ' ');
  const auto sum = take_until(rest, ' ');
  const auto size_text = take_until(rest, '\n');
  if (!magic || *magic != kMagic || !version || !sum || !size_text) return std::nullopt;
  const auto size = number(*size_text, 10);
  auto body = size ? take(rest, *size) : std::nullopt;
  if (!body || *sum != fmt::format("{:016x}", sum64(*body))) return std::nullopt;
  if (*version != kVersion) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("journal: version '{}', expected '{}'", *version, kVersion));
  }
  Changes changes;
  while (!body->empty()) {
    if (!take_entry(*body, changes)) return std::nullopt;
  }
  const std::size_t over = (begin - rest.size()) % kJournalBlock;
  if (over > 0) rest.remove_prefix(std::min(rest.size(), kJournalBlock - over));
  return changes;
}

}  // namespace

std::uint64_t sum64(std::string_view bytes) {
  constexpr std::uint64_t kPrime = 1099511628211U;
  std::uint64_t sum = 14695981039346656037U;
  const auto add = [&sum](std::uint64_t word) {
    sum = (sum ^ word) * kPrime;
    sum ^= sum >> 32U;
  };
  for (; bytes.size() >= sizeof(std::uint64_t); bytes.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t word = 0;
    std::copy_n(bytes.data(), sizeof(word), reinterpret_cast<char*>(&word));
    add(word);
  }
  for (const char c : bytes) add(static_cast<unsigned char>(c));
  return sum;
}

std::string encode_record(const Changes& changes) {
  std::string body;
  for (const auto& [name, change] : changes) {
    const auto before =
        change.before ? fmt::format("{:016x}", *change.before) : std::string(kNoFile);
    body += fmt::format("{} {} {}\n", name, before, change.after.size());
    body += change.after;
  }
  std::string record =
      fmt::format("{} {} {:016x} {}\n", kMagic, kVersion, sum64(body), body.size());
  record += body;
  record.resize((record.size() + kJournalBlock - 1) / kJournalBlock * kJournalBlock, '\0');
  return record;
}

Result<std::vector<Changes>> decode_journal(std::string_view bytes) {
  std::vector<Changes> transactions;
  while (!bytes.empty()) {
    PINFOLD_LET(auto changes, take_record(bytes));
    if (!changes) break;
    transactions.push_back(*std::move(changes));
  }
  return transactions;
}

}  // namespace pinfold::checkpoint
