#include "pinfold/harness/test_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "pinfold/text/message.hpp"

namespace pinfold::harness {
namespace {

constexpr std::size_t kMaxOutcomes = 10000;
constexpr std::size_t kMaxName = 200;
constexpr int kMaxTestDepth = 8;
constexpr int kSkipOfKselftest = 4;
constexpr int kSkipOfAutomake = 77;

bool drop_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Removes a word, in upper or lower case letters, that is followed by a space or the end.
bool drop_word(std::string_view& text, std::string_view upper) {
  const auto same = [](char c, char wanted) { return c == wanted || c == wanted - 'A' + 'a'; };
  if (text.size() < upper.size() ||
      !std::equal(upper.begin(), upper.end(), text.begin(),
                  [&](char wanted, char c) { return same(c, wanted); }) ||
      (text.size() > upper.size() && text[upper.size()] != ' ')) {
    return false;
  }
  text = trimmed(text.substr(upper.size()));
  return true;
}

/// Removes the nesting from a line and returns its depth.
int take_depth(std::string_view& line, TestFormat format) {
  int depth = 0;
  while (format == TestFormat::kKselftest && drop_prefix(line, "# ")) ++depth;
  // TAP 14 indents by four spaces, KTAP by two.
  const std::size_t spaces = std::min(line.find_first_not_of(' '), line.size());
  line.remove_prefix(spaces);
  return std::min(depth + static_cast<int>((spaces + 1) / 2), kMaxTestDepth);
}

/// Returns the number of tests in a plan: "1..3".
std::optional<int> planned(std::string_view line) {
  int count = 0;
  if (!drop_prefix(line, "1..")) return std::nullopt;
  const auto read = std::from_chars(line.data(), line.data() + line.size(), count);
  const std::string_view rest(read.ptr,
                              static_cast<std::size_t>(line.data() + line.size() - read.ptr));
  const bool ends = trimmed(rest).empty() || trimmed(rest).front() == '#';
  return read.ec == std::errc() && count >= 0 && ends ? std::optional(count) : std::nullopt;
}

/// Parses "ok 3 - name # SKIP reason", without its nesting; nullopt for any other line.
std::optional<TestOutcome> outcome_in(std::string_view line) {
  TestOutcome outcome;
  if (drop_prefix(line, "not ok")) {
    outcome.kind = TestOutcome::Kind::kFailed;
  } else if (!drop_prefix(line, "ok")) {
    return std::nullopt;
  }
  if (!line.empty() && line.front() != ' ') return std::nullopt;  // "okay"
  line = trimmed(line);
  const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  const std::string_view number = line.substr(0, digits);
  line = trimmed(line.substr(digits));
  if (drop_prefix(line, "-")) line = trimmed(line);

  const std::size_t hash = line.starts_with('#') ? 0 : line.find(" #");
  std::string_view name = trimmed(line.substr(0, hash));
  std::string_view note;
  if (hash != std::string_view::npos) note = trimmed(line.substr(line.find('#', hash) + 1));
  const bool skipped = drop_word(note, "SKIP");
  const bool expected = !skipped && (drop_word(note, "TODO") || drop_word(note, "XFAIL"));
  if (skipped || (expected && outcome.kind == TestOutcome::Kind::kFailed)) {
    outcome.kind = TestOutcome::Kind::kSkipped;
  }
  if (name.empty()) std::swap(name, note);  // kselftest: "ok 2 # SKIP name"
  outcome.name = escaped(name.empty() ? number : name.substr(0, kMaxName));
  outcome.note = escaped(note.substr(0, kMaxName));
  if (outcome.name.empty()) outcome.name = "unnamed";
  return outcome;
}

/// The parser's state: outcomes with their depth. Parents come after their subtests.
class Collector {
 public:
  explicit Collector(TestFormat format) : format_(format) {}

  void add(std::string_view line) {
    const int depth = take_depth(line, format_);
    in_details_ = in_details_ || (after_outcome_ && line == "---");
    after_outcome_ = false;
    if (in_details_) {
      in_details_ = line != "...";
      return;
    }
    if (drop_prefix(line, "Bail out!")) {
      problem_ = "bailed out: " + escaped(trimmed(line).substr(0, kMaxName));
    } else if (const auto plan = planned(line); plan && depth == 0) {
      plan_ = plan;
    } else if (auto outcome = outcome_in(line)) {
      add(std::move(*outcome), depth);
      after_outcome_ = true;
    }
  }

  [[nodiscard]] TestOutput take() {
    const auto top = static_cast<int>(std::count(depths_.begin(), depths_.end(), 0));
    if (problem_.empty() && plan_ && *plan_ != top) {
      problem_ = fmt::format("expected {} tests, got {}", *plan_, top);
    }
    if (problem_.empty() && !plan_ && outcomes_.empty()) {
      problem_ = "expected lines 'ok' and 'not ok', got none";
    }
    return {std::move(outcomes_), std::move(problem_)};
  }

 private:
  void add(TestOutcome outcome, int depth) {
    if (outcomes_.size() == kMaxOutcomes) {
      problem_ = fmt::format("expected at most {} tests", kMaxOutcomes);
      return;
    }
    for (std::size_t i = outcomes_.size(); i > 0 && depths_[i - 1] > depth; --i) {
      if (taken_[i - 1] > depth) {
        outcomes_[i - 1].name = outcome.name + " / " + outcomes_[i - 1].name;
        taken_[i - 1] = depth;
      }
    }
    outcomes_.push_back(std::move(outcome));
    depths_.push_back(depth);
    taken_.push_back(depth);
  }

  TestFormat format_;
  bool after_outcome_ = false;
  bool in_details_ = false;  ///< between --- and ..., which TAP allows after a result
  std::optional<int> plan_;
  std::string problem_;
  std::vector<TestOutcome> outcomes_;
  std::vector<int> depths_;
  std::vector<int> taken_;  ///< depth of the outermost parent in the name
};

}  // namespace

TestOutput parse_test_output(std::string_view text, TestFormat format) {
  Collector collector(format);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    collector.add(line);
  }
  return collector.take();
}

TestOutcome::Kind outcome_of_status(int status) {
  if (status == 0) return TestOutcome::Kind::kOk;
  return status == kSkipOfKselftest || status == kSkipOfAutomake ? TestOutcome::Kind::kSkipped
                                                                 : TestOutcome::Kind::kFailed;
}

}  // namespace pinfold::harness
