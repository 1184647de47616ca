#include <fmt/format.h>

#include <algorithm>

#include "pinfold/checkpoint/journal.hpp"

namespace pinfold::checkpoint {
namespace {

/// This many equal bytes count as the same place in both texts: more than a pod's id has.
constexpr std::size_t kAnchor = 64;
/// How far ahead to look for the next equal bytes.
constexpr std::size_t kFarthest = 8192;
/// How far ahead to look if both texts have new bytes.
constexpr std::size_t kNear = 1024;
/// The three numbers of an edit.
constexpr std::size_t kEditSize = 24;
/// The limit: finding more would take longer than writing the whole file.
constexpr std::size_t kMostEdits = 32;

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const std::size_t size = std::min(a.size(), b.size());
  constexpr std::size_t kStep = 256;
  std::size_t equal = 0;
  while (equal + kStep <= size && a.substr(equal, kStep) == b.substr(equal, kStep)) equal += kStep;
  while (equal < size && a[equal] == b[equal]) ++equal;
  return equal;
}

/// The bytes of both texts before the place where they match again.
struct Gap {
  std::size_t before;
  std::size_t after;

  [[nodiscard]] std::size_t size() const { return before + after; }
};

/// Finds where two texts match again. Domain: they differ from their first byte on, or one is
/// empty.
Gap find_gap(std::string_view before, std::string_view after) {
  Gap best = {before.size(), after.size()};
  const auto offer = [&](const Gap& gap) {
    if (gap.size() < best.size()) best = gap;
  };
  const auto find = [](std::string_view text, std::string_view anchor) {
    return anchor.size() < kAnchor ? std::string_view::npos
                                   : text.substr(0, kFarthest).find(anchor);
  };
  if (const auto at = find(after, before.substr(0, kAnchor)); at != std::string_view::npos) {
    offer({0, at});
  }
  if (const auto at = find(before, after.substr(0, kAnchor)); at != std::string_view::npos) {
    offer({at, 0});
  }
  constexpr std::size_t kStep = 8;
  for (std::size_t skip = kStep; skip < std::min({kNear, after.size(), best.size()});
       skip += kStep) {
    const auto at = find(before.substr(0, kNear), after.substr(skip, kAnchor));
    if (at == std::string_view::npos) continue;
    offer({at, skip});
    break;
  }
  return best;
}

/// Applies edits; nullopt if they do not fit these contents.
std::optional<std::string> edited(std::string_view before, const Edits& edits) {
  std::string after;
  for (const Edit& edit : edits) {
    if (edit.keep > before.size() || edit.drop > before.size() - edit.keep) return std::nullopt;
    after += before.substr(0, edit.keep);
    after += edit.insert;
    before.remove_prefix(edit.keep + edit.drop);
  }
  return after.append(before);
}

}  // namespace

std::variant<std::string, Edits> difference(std::string_view before, std::string_view after) {
  const std::string_view whole = after;
  Edits edits;
  std::size_t size = 0;
  while (true) {
    const std::size_t keep = common_prefix(before, after);
    before.remove_prefix(keep);
    after.remove_prefix(keep);
    if (before.empty() && after.empty()) return edits;
    const Gap gap = find_gap(before, after);
    size += kEditSize + gap.after;
    if (size > whole.size() / 2 || edits.size() == kMostEdits) return std::string(whole);
    edits.push_back({keep, gap.before, std::string(after.substr(0, gap.after))});
    before.remove_prefix(gap.before);
    after.remove_prefix(gap.after);
  }
}

Result<void> apply_record(const Record& record, Contents& contents) {
  for (const auto& [name, change] : record.changes) {
    if (const auto* const whole = std::get_if<std::string>(&change.after)) {
      contents[name] = *whole;
      continue;
    }
    const auto before = contents.find(name);
    auto after =
        before != contents.end() && content_sum(before->second, record.version) == change.before
            ? edited(before->second, std::get<Edits>(change.after))
            : std::nullopt;
    if (!after) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("journal: a record edits contents of '{}' that differ from those of "
                              "the records before it",
                              name));
    }
    before->second = *std::move(after);
  }
  return {};
}

}  // namespace pinfold::checkpoint
