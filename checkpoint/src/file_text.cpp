#include "pinfold/checkpoint/file_text.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "crc64.hpp"

namespace pinfold::checkpoint {
SummedText::SummedText(std::string text)
    : text_(std::move(text)), sum_(crc64(text_)), factor_(crc64_factor(text_.size())) {}

SummedText::SummedText(std::span<const SummedText* const> texts) {
  for (const SummedText* const text : texts) {
    text_ += text->text_;
    sum_ = crc64_of_both(sum_, text->sum_, text->factor_);
  }
  factor_ = crc64_factor(text_.size());
}

FileText::FileText(std::string text)
    : FileText(std::vector{std::make_shared<const SummedText>(std::move(text))}) {}

FileText::FileText(std::vector<Part> parts) : parts_(std::move(parts)) {
  for (const Part& part : parts_) sum_ = crc64_of_both(sum_, part->sum(), part->factor());
}

FileText::FileText(std::string front, const FileText& rest) : FileText(std::move(front)) {
  parts_.insert(parts_.end(), rest.parts_.begin(), rest.parts_.end());
  sum_ = crc64_of_both(sum_, rest.sum_, crc64_factor(rest.size()));
}

std::size_t FileText::size() const {
  std::size_t size = 0;
  for (const Part& part : parts_) size += part->text().size();
  return size;
}

std::string FileText::text() const {
  std::string text;
  text.reserve(size());
  for (const Part& part : parts_) text += part->text();
  return text;
}

bool operator==(const FileText& a, const FileText& b) {
  return a.parts_ == b.parts_ || (a.sum_ == b.sum_ && a.size() == b.size() && a.text() == b.text());
}

namespace {

/// How many parts ahead two texts are searched for a common one.
constexpr std::size_t kAhead = 4;

template <class At>
std::string text_of(At begin, At end) {
  std::string text;
  for (; begin != end; ++begin) text += (*begin)->text();
  return text;
}

/// Returns the next part that two texts share, in both; the ends if there is none nearby.
template <class At>
std::pair<At, At> next_common(At old, At old_end, At now, At now_end) {
  const At last = old + std::min<std::ptrdiff_t>(kAhead, old_end - old);
  const At last_now = now + std::min<std::ptrdiff_t>(kAhead, now_end - now);
  for (; old != last; ++old) {
    const At found = std::find(now, last_now, *old);
    if (found != last_now) return {old, found};
  }
  return {old_end, now_end};
}

/// Collects the edits of the whole text from those of its regions.
class EditList {
 public:
  void keep(std::uint64_t bytes) { kept_ += bytes; }
  void add(std::string_view before, std::string_view after) {
    auto changed = difference(before, after);
    auto* const whole = std::get_if<std::string>(&changed);
    if (whole != nullptr) return add(before.size(), {{0, before.size(), std::move(*whole)}});
    add(before.size(), std::get<Edits>(std::move(changed)));
  }
  [[nodiscard]] Edits take() && { return std::move(edits_); }

 private:
  /// Adds the edits of a region with `left` bytes.
  void add(std::uint64_t left, Edits more) {
    for (Edit& edit : more) {
      left -= edit.keep + edit.drop;
      edit.keep += std::exchange(kept_, 0);
      edits_.push_back(std::move(edit));
    }
    kept_ += left;
  }

  std::uint64_t kept_ = 0;  ///< since the last edit
  Edits edits_;
};

/// Returns about how many bytes a record needs for the edits.
std::size_t size_of(const Edits& edits) {
  constexpr std::size_t kNumbers = 24;
  std::size_t size = 0;
  for (const Edit& edit : edits) size += kNumbers + edit.insert.size();
  return size;
}

}  // namespace

std::variant<std::string, Edits> difference(const FileText& before, const FileText& after) {
  EditList list;
  auto old = before.parts_.begin();
  auto now = after.parts_.begin();
  while (old != before.parts_.end() || now != after.parts_.end()) {
    const auto [same, other] = next_common(old, before.parts_.end(), now, after.parts_.end());
    if (old != same || now != other) list.add(text_of(old, same), text_of(now, other));
    old = same;
    now = other;
    if (same == before.parts_.end()) continue;
    list.keep((*same)->text().size());
    ++old;
    ++now;
  }
  Edits edits = std::move(list).take();
  if (size_of(edits) > after.size() / 2) return after.text();
  return edits;
}

FileText::Part join_entries(std::span<const SummedText* const> entries, bool is_first) {
  SummedText joined(entries);
  return std::make_shared<const SummedText>(is_first ? SummedText(joined.text().substr(1))
                                                     : std::move(joined));
}

FileTexts texts_of(Files files) {
  const auto text_of = [](std::optional<std::string>& bytes) {
    return bytes ? std::optional(FileText(*std::move(bytes))) : std::nullopt;
  };
  return {text_of(files.cpu), text_of(files.memory), text_of(files.pods), text_of(files.node)};
}

Files files_of(const FileTexts& texts) {
  const auto bytes_of = [](const std::optional<FileText>& text) {
    return text ? std::optional(text->text()) : std::nullopt;
  };
  return {bytes_of(texts.cpu), bytes_of(texts.memory), bytes_of(texts.pods), bytes_of(texts.node)};
}

}  // namespace pinfold::checkpoint
