#include "pinfold/checkpoint/file_text.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "crc64.hpp"

namespace pinfold::checkpoint {
namespace {

/// Returns whether a group ends after a part: one of 16 does.
bool ends_group(const SummedText& part) { return part.sum() % 16 == 0; }

/// How many groups ahead two texts are searched for a common one.
constexpr std::size_t kAhead = 4;

}  // namespace

SummedText::SummedText(std::string text, std::uint64_t sum)
    : text_(std::move(text)), sum_(sum), factor_(crc64_factor(text_.size())) {}

SummedText::SummedText(std::string text) : SummedText(std::move(text), 0) { sum_ = crc64(text_); }

std::shared_ptr<const FileText::Group> FileText::make_group(std::vector<Part> parts) {
  std::string text;
  std::uint64_t sum = 0;  // of no bytes
  for (const Part& part : parts) {
    text += part->text();
    sum = crc64_of_both(sum, part->sum(), part->factor());
  }
  return std::make_shared<const Group>(Group{std::move(parts), {std::move(text), sum}});
}

FileText::FileText(std::string text)
    : groups_{make_group({std::make_shared<const SummedText>(std::move(text))})} {}

FileText::FileText(std::string front, const FileText& rest) : FileText(std::move(front)) {
  groups_.insert(groups_.end(), rest.groups_.begin(), rest.groups_.end());
}

FileText::FileText(std::span<const Part> parts, const FileText* before) {
  static const Groups kNone;
  const Groups& known = before != nullptr ? before->groups_ : kNone;
  auto next = known.begin();
  while (!parts.empty()) {
    const auto end = std::find_if(parts.begin(), std::prev(parts.end()),
                                  [](const Part& part) { return ends_group(*part); });
    const auto size = static_cast<std::size_t>(end - parts.begin()) + 1;
    const std::span<const Part> group = parts.first(size);
    const auto last = next + std::min<std::ptrdiff_t>(kAhead, known.end() - next);
    const auto same = std::find_if(
        next, last, [&](const auto& one) { return std::ranges::equal(one->parts, group); });
    groups_.push_back(same == last ? make_group({group.begin(), group.end()}) : *same);
    if (same != last) next = std::next(same);
    parts = parts.subspan(size);
  }
}

std::size_t FileText::size() const {
  std::size_t size = 0;
  for (const auto& group : groups_) size += group->whole.text().size();
  return size;
}

std::uint64_t FileText::sum() const {
  std::uint64_t sum = 0;  // of no bytes
  for (const auto& group : groups_) {
    sum = crc64_of_both(sum, group->whole.sum(), group->whole.factor());
  }
  return sum;
}

std::string FileText::text() const {
  std::string text;
  text.reserve(size());
  for (const auto& group : groups_) text += group->whole.text();
  return text;
}

bool operator==(const FileText& a, const FileText& b) {
  return a.groups_ == b.groups_ ||
         (a.size() == b.size() && a.sum() == b.sum() && a.text() == b.text());
}

namespace {

template <class At>
std::string text_of(At begin, At end) {
  std::string text;
  for (; begin != end; ++begin) text += (*begin)->whole.text();
  return text;
}

/// Returns the next group that two texts share, in both; the ends if there is none nearby.
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
  auto old = before.groups_.begin();
  auto now = after.groups_.begin();
  while (old != before.groups_.end() || now != after.groups_.end()) {
    const auto [same, other] = next_common(old, before.groups_.end(), now, after.groups_.end());
    if (old != same || now != other) list.add(text_of(old, same), text_of(now, other));
    old = same;
    now = other;
    if (same == before.groups_.end()) continue;
    list.keep((*same)->whole.text().size());
    ++old;
    ++now;
  }
  Edits edits = std::move(list).take();
  if (size_of(edits) > after.size() / 2) return after.text();
  return edits;
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
