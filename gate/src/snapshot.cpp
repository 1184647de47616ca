// Reads the snapshot as checkpoint/src/snapshot_reader.cpp does, but only its CPU state, and in the
// memory that the caller passes: checkpoint/src/snapshot_writer.cpp describes the format.

#include <algorithm>
#include <charconv>

#include "crc64.hpp"
#include "pinfold/gate/decision.hpp"
#include "snapshot_layout.hpp"

namespace pinfold::gate {
namespace {

using checkpoint::crc64;
using checkpoint::snapshot::Header;
using checkpoint::snapshot::Slot;
using checkpoint::snapshot::Word;

constexpr int kAttempts = 100;
constexpr std::string_view kCpuFile = "cpu_manager_state";
constexpr std::string_view kMagic = "pinfold-journal 4 ";

/// The CPU state file while the records of the log are applied.
struct SnapshotText {
  std::span<char> buffer;
  std::size_t size = 0;

  /// Returns false if the edit is outside the text, or there is no room.
  bool replace(std::size_t at, std::size_t drop, std::string_view insert) {
    if (at > size || drop > size - at) return false;
    const std::size_t rest = size - at - drop;
    if (insert.size() > buffer.size() - at || rest > buffer.size() - at - insert.size()) {
      return false;
    }
    char* const from = buffer.data() + at + drop;
    char* const to = buffer.data() + at + insert.size();
    if (to <= from) {
      std::copy(from, from + rest, to);
    } else {
      std::copy_backward(from, from + rest, to + rest);
    }
    std::copy(insert.begin(), insert.end(), buffer.data() + at);
    size = at + insert.size() + rest;
    return true;
  }
  bool assign(std::string_view text) { return replace(0, size, text); }
};

/// Removes the text up to `end`, and `end` itself.
std::optional<std::string_view> take_until(std::string_view& text, char end) {
  const std::size_t found = text.find(end);
  if (found == text.npos) return std::nullopt;
  const std::string_view head = text.substr(0, found);
  text.remove_prefix(found + 1);
  return head;
}

std::optional<std::uint64_t> take_number(std::string_view& text, char end, int base = 10) {
  const auto digits = take_until(text, end);
  std::uint64_t value = 0;
  if (!digits) return std::nullopt;
  const char* const last = digits->data() + digits->size();
  const auto [stop, error] = std::from_chars(digits->data(), last, value, base);
  return error == std::errc{} && stop == last ? std::optional(value) : std::nullopt;
}

/// Removes "LENGTH\nBYTES".
std::optional<std::string_view> take_bytes(std::string_view& text) {
  const auto size = take_number(text, '\n');
  if (!size || *size > text.size()) return std::nullopt;
  const std::string_view bytes = text.substr(0, *size);
  text.remove_prefix(*size);
  return bytes;
}

/// Removes "+COUNT\n" and its edits, and applies them to `text`, if there is one.
bool apply_edits(std::string_view& body, SnapshotText* text) {
  body.remove_prefix(1);
  const auto count = take_number(body, '\n');
  if (!count) return false;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto keep = take_number(body, ' ');
    const auto drop = take_number(body, ' ');
    const auto insert = take_bytes(body);
    if (!keep || !drop || !insert) return false;
    if (text == nullptr) continue;
    if (*keep > text->size - at || !text->replace(at + *keep, *drop, *insert)) return false;
    at += *keep + insert->size();
  }
  return true;
}

/// Removes one file's change from the body of a record, and applies that of the CPU state file.
bool apply_change(std::string_view& body, SnapshotText& text) {
  const auto name = take_until(body, ' ');
  const auto before = take_until(body, ' ');
  if (!name || !before) return false;
  const bool is_cpu = *name == kCpuFile;
  if (body.starts_with('+')) return apply_edits(body, is_cpu ? &text : nullptr);
  const auto bytes = take_bytes(body);
  return bytes && (!is_cpu || text.assign(*bytes));
}

bool apply_record(std::string_view record, SnapshotText& text) {
  if (!record.starts_with(kMagic)) return false;
  record.remove_prefix(kMagic.size());
  const auto sum = take_number(record, ' ', 16);
  const auto body = take_bytes(record);
  if (!sum || !body || !record.empty() || crc64(*body) != *sum) return false;
  for (std::string_view rest = *body; !rest.empty();) {
    if (!apply_change(rest, text)) return false;
  }
  return true;
}

std::optional<Word> take_word(std::string_view& text) {
  Word word = 0;
  if (text.size() < sizeof word) return std::nullopt;
  std::copy_n(text.data(), sizeof word, reinterpret_cast<char*>(&word));
  text.remove_prefix(sizeof word);
  return word;
}

bool apply_log(std::string_view log, SnapshotText& text) {
  while (!log.empty()) {
    const auto size = take_word(log);
    if (!size || *size > log.size() || !apply_record(log.substr(0, *size), text)) return false;
    log.remove_prefix(std::min(log.size(), checkpoint::snapshot::whole_words(*size)));
  }
  return true;
}

/// A snapshot in shared memory.
class SnapshotBytes {
 public:
  explicit SnapshotBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool is_valid(std::string_view boot_id) const {
    if (bytes_.size() < sizeof(Header)) return false;
    std::string_view boot = text(offsetof(Header, boot_id), sizeof(Header::boot_id));
    boot = boot.substr(0, boot.find('\0'));
    return at(0) == checkpoint::snapshot::kMagic && boot == boot_id &&
           at(offsetof(Header, version)) == checkpoint::snapshot::kVersion &&
           capacity() % sizeof(Word) == 0 && capacity() <= (bytes_.size() - sizeof(Header)) / 2;
  }

  /// Returns the CPU state file in `buffer`; nullopt if the writer changed it meanwhile.
  [[nodiscard]] std::optional<SnapshotText> copy(std::span<char> buffer) const {
    const Word slot = at(offsetof(Header, generation)) & 1U;
    const std::size_t head = offsetof(Header, slots) + slot * sizeof(Slot);
    const Word before = at(head);
    const Word size = at(head + offsetof(Slot, size));
    const Word log = at(head + offsetof(Slot, log));
    const Word room = capacity();
    if (before % 2 == 1 || size > room || log > room - checkpoint::snapshot::whole_words(size)) {
      return std::nullopt;
    }
    const std::string_view payload = text(sizeof(Header) + slot * room, size);
    const std::string_view records =
        text(sizeof(Header) + slot * room + checkpoint::snapshot::whole_words(size), log);
    SnapshotText out{buffer};
    const bool is_read = crc64(payload) == at(head + offsetof(Slot, hash)) &&
                         copy_file(payload, out) && apply_log(records, out);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return is_read && at(head) == before ? std::optional(out) : std::nullopt;
  }

 private:
  /// The CPU state file comes first: its size plus one, then its bytes; a 0 if it does not exist.
  static bool copy_file(std::string_view payload, SnapshotText& out) {
    const auto size = take_word(payload);
    if (!size || *size == 0) return size.has_value();
    return *size - 1 <= payload.size() && out.assign(payload.substr(0, *size - 1));
  }
  [[nodiscard]] Word at(std::size_t offset) const {
    // The builtin, because <atomic> needs threads that the program's C library does not have.
    return __atomic_load_n(reinterpret_cast<const Word*>(bytes_.data() + offset), __ATOMIC_ACQUIRE);
  }
  [[nodiscard]] Word capacity() const { return at(offsetof(Header, capacity)); }
  [[nodiscard]] std::string_view text(std::size_t offset, std::size_t size) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, size};
  }

  std::span<const std::byte> bytes_;
};

}  // namespace

std::optional<DecidedCpus> read_decision(std::span<const std::byte> bytes, std::string_view boot_id,
                                         const StateName& owner, std::span<char> buffer) {
  const SnapshotBytes snapshot(bytes);
  if (!snapshot.is_valid(boot_id)) return std::nullopt;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto text = snapshot.copy(buffer);
    if (text) return parse_cpu_state(text->buffer.first(text->size), owner);
  }
  return std::nullopt;
}

}  // namespace pinfold::gate
