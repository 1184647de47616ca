#include "pinfold/checkpoint/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "crc64.hpp"

namespace pinfold::checkpoint {
namespace {

constexpr std::string_view kMagic = "pinfold-journal";
constexpr int kOldestVersion = 2;
constexpr int kFirstWithEdits = 4;
constexpr std::string_view kNoFile = "-";

/// Removes the text up to the first `end` and `end` itself; returns the text.
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

template <class Number>
std::optional<Number> number(std::string_view text, int base) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

/// Removes "LENGTH\nBYTES" from the front of `rest`.
std::optional<std::string> take_bytes(std::string_view& rest) {
  const auto size_text = take_until(rest, '\n');
  const auto size = size_text ? number<std::uint64_t>(*size_text, 10) : std::nullopt;
  const auto bytes = size ? take(rest, *size) : std::nullopt;
  return bytes ? std::optional<std::string>(*bytes) : std::nullopt;
}

/// Removes "KEEP DROP LENGTH\nBYTES" from the front of `rest`.
std::optional<Edit> take_edit(std::string_view& rest) {
  const auto keep_text = take_until(rest, ' ');
  const auto drop_text = take_until(rest, ' ');
  auto insert = take_bytes(rest);
  if (!keep_text || !drop_text || !insert) return std::nullopt;
  const auto keep = number<std::uint64_t>(*keep_text, 10);
  const auto drop = number<std::uint64_t>(*drop_text, 10);
  if (!keep || !drop) return std::nullopt;
  return Edit{*keep, *drop, *std::move(insert)};
}

/// Removes "+COUNT\n" and the edits after it from the front of `rest`.
std::optional<Edits> take_edits(std::string_view& rest) {
  rest.remove_prefix(1);
  const auto count_text = take_until(rest, '\n');
  const auto count = count_text ? number<std::uint64_t>(*count_text, 10) : std::nullopt;
  if (!count) return std::nullopt;
  Edits edits;
  for (std::uint64_t i = 0; i < *count; ++i) {
    auto edit = take_edit(rest);
    if (!edit) return std::nullopt;
    edits.push_back(*std::move(edit));
  }
  return edits;
}

/// Removes one entry from the front of `rest`; false if it is malformed.
bool take_entry(std::string_view& rest, int version, Changes& changes) {
  const auto name = take_until(rest, ' ');
  const auto before_text = take_until(rest, ' ');
  if (!name || !before_text) return false;
  const auto before =
      before_text->size() == 16 ? number<std::uint64_t>(*before_text, 16) : std::nullopt;
  if (!before && *before_text != kNoFile) return false;
  FileChange& change = changes[std::string(*name)];
  change.before = before;
  if (version >= kFirstWithEdits && rest.starts_with('+')) {
    auto edits = take_edits(rest);
    if (!edits) return false;
    change.after = *std::move(edits);
  } else {
    auto bytes = take_bytes(rest);
    if (!bytes) return false;
    change.after = *std::move(bytes);
  }
  return true;
}

/// Removes one record and its padding from the front of `rest`; nullopt if it is incomplete.
Result<std::optional<Record>> take_record(std::string_view& rest, RecordSums sums) {
  const std::size_t begin = rest.size();
  const auto magic = take_until(rest, ' ');
  const auto version_text = take_until(rest, ' ');
  const auto sum = take_until(rest, ' ');
  const auto size_text = take_until(rest, '\n');
  if (!magic || *magic != kMagic || !version_text || !sum || !size_text) return std::nullopt;
  const auto version = number<int>(*version_text, 10);
  const auto size = number<std::uint64_t>(*size_text, 10);
  auto body = size ? take(rest, *size) : std::nullopt;
  if (!version || !body) return std::nullopt;
  // Another version may use another sum, so its records cannot be distinguished from torn ones:
  // rejects both.
  if (*version < kOldestVersion || *version > kJournalVersion) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("journal: version '{}', expected {} to {}: open the state directory "
                            "with the Pinfold version that wrote it",
                            *version, kOldestVersion, kJournalVersion));
  }
  const bool is_whole =
      sums == RecordSums::kKnown || *sum == fmt::format("{:016x}", content_sum(*body, *version));
  if (!is_whole) return std::nullopt;
  Record record{*version, {}};
  while (!body->empty()) {
    if (!take_entry(*body, *version, record.changes)) return std::nullopt;
  }
  const std::size_t over = (begin - rest.size()) % kJournalBlock;
  if (over > 0) rest.remove_prefix(std::min(rest.size(), kJournalBlock - over));
  return record;
}

/// Computes the sum of version 2: 64-bit words in the machine's byte order, then the remaining
/// bytes.
std::uint64_t sum_of_version_2(std::string_view bytes) {
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

}  // namespace

std::uint64_t content_sum(std::string_view bytes, int version) {
  return version == 2 ? sum_of_version_2(bytes) : crc64(bytes);
}

std::uint64_t journal_sum(std::string_view records) {
  std::uint64_t sum = 0;
  while (!records.empty()) {
    const std::string_view block = records.substr(0, kJournalBlock);
    records.remove_prefix(block.size());
    sum = crc64_of_both(sum, crc64_of_padded(block), crc64_factor(block.size()));
  }
  return sum;
}

std::string encode_record(const Changes& changes) {
  std::string body;
  for (const auto& [name, change] : changes) {
    const auto before =
        change.before ? fmt::format("{:016x}", *change.before) : std::string(kNoFile);
    body += fmt::format("{} {} ", name, before);
    if (const auto* const whole = std::get_if<std::string>(&change.after)) {
      body += fmt::format("{}\n", whole->size());
      body += *whole;
      continue;
    }
    const Edits& edits = std::get<Edits>(change.after);
    body += fmt::format("+{}\n", edits.size());
    for (const Edit& edit : edits) {
      body += fmt::format("{} {} {}\n", edit.keep, edit.drop, edit.insert.size());
      body += edit.insert;
    }
  }
  std::string record =
      fmt::format("{} {} {:016x} {}\n", kMagic, kJournalVersion, content_sum(body), body.size());
  record += body;
  record.resize((record.size() + kJournalBlock - 1) / kJournalBlock * kJournalBlock, '\0');
  return record;
}

std::string_view without_padding(std::string_view record) {
  const std::size_t line = record.find('\n');
  const std::string_view size = record.substr(0, line);
  return record.substr(
      0, line + 1 + number<std::size_t>(size.substr(size.rfind(' ') + 1), 10).value_or(0));
}

Result<std::vector<Record>> decode_journal(std::string_view bytes, RecordSums sums) {
  std::vector<Record> records;
  while (!bytes.empty()) {
    PINFOLD_LET(auto record, take_record(bytes, sums));
    if (!record) break;
    records.push_back(*std::move(record));
  }
  return records;
}

}  // namespace pinfold::checkpoint
