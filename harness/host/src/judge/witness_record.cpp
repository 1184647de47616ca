#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "pinfold/harness/witness.hpp"

namespace pinfold::harness {
namespace {

/// Reads the numbers at the beginning of a text, each followed by a space or the end. Returns false
/// if one is missing or negative.
bool take_numbers(std::string_view& text, std::span<std::int64_t> numbers) {
  for (std::int64_t& number : numbers) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc() || number < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    if (text.empty()) continue;
    if (text.front() != ' ') return false;
    text.remove_prefix(1);
  }
  return true;
}

class WitnessReader {
 public:
  /// Reads one line without its end. Returns false if it is not one of ContainerRuns.
  bool read(std::string_view line) {
    const char what = line.empty() ? '\0' : line.front();
    if (line.size() < 3 || line[1] != ' ') return false;
    line.remove_prefix(2);
    switch (what) {
      case 'g':
        return read_group(line);
      case 'x':
        return read_begin(line);
      case 'e':
        return read_end(line);
      case 'r':
        return read_run(line);
      case 'm':
        return read_mark(line);
      default:
        return false;
    }
  }

  /// Returns false if runs overlap.
  bool sort_runs() {
    std::sort(record.runs.begin(), record.runs.end(), [](const auto& a, const auto& b) {
      return std::pair(a.cpu, a.from) < std::pair(b.cpu, b.from);
    });
    const auto overlap = [](const auto& a, const auto& b) {
      return a.cpu == b.cpu && b.from < a.to;
    };
    return std::adjacent_find(record.runs.begin(), record.runs.end(), overlap) == record.runs.end();
  }

  WitnessRecord record;

 private:
  [[nodiscard]] bool is_group(std::int64_t number) const {
    return static_cast<std::size_t>(number) < record.groups.size();
  }
  std::vector<WitnessRecord::Life>& lives_of(std::int64_t group) {
    return record.lives[static_cast<std::size_t>(group)];
  }

  bool read_group(std::string_view line) {
    std::int64_t numbers[1];
    if (!take_numbers(line, numbers) || line.empty()) return false;
    if (static_cast<std::size_t>(numbers[0]) != record.groups.size()) return false;
    record.groups.emplace_back(line);
    return true;
  }
  bool read_begin(std::string_view line) {
    std::int64_t numbers[2];
    if (!take_numbers(line, numbers) || line.empty() || !is_group(numbers[0])) return false;
    auto& lives = lives_of(numbers[0]);
    if (!lives.empty() && lives.back().to > numbers[1]) return false;
    lives.push_back({numbers[1], INT64_MAX, std::string(line)});
    return true;
  }
  bool read_end(std::string_view line) {
    std::int64_t numbers[2];
    if (!take_numbers(line, numbers) || !line.empty() || !is_group(numbers[0])) return false;
    auto& lives = lives_of(numbers[0]);
    if (lives.empty() || lives.back().to != INT64_MAX || lives.back().from > numbers[1]) {
      return false;
    }
    lives.back().to = numbers[1];
    return true;
  }
  bool read_run(std::string_view line) {
    std::int64_t numbers[5];
    if (!take_numbers(line, numbers) || !line.empty() || !is_group(numbers[0])) return false;
    const auto [group, cpu, from, to, ran] = numbers;
    if (cpu >= CpuSet::kMaxCpus || from > to || ran > to - from) return false;
    record.runs.push_back(
        {static_cast<std::size_t>(group), static_cast<std::int32_t>(cpu), from, to, ran});
    return true;
  }
  bool read_mark(std::string_view line) {
    std::int64_t numbers[2];
    if (!take_numbers(line, numbers) || !line.empty()) return false;
    auto& marks = record.marks;
    if (static_cast<std::size_t>(numbers[0]) != marks.size()) return false;
    if (!marks.empty() && numbers[1] < marks.back()) return false;
    marks.push_back(numbers[1]);
    return true;
  }
};

}  // namespace

Result<WitnessRecord> parse_witness(std::string_view text) {
  WitnessReader reader;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!reader.read(line)) {
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("line {}: '{}': expected a line of the witness", number, line.substr(0, 80)));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!reader.sort_runs()) {
    return fail(ErrorCode::kInvalidArgument, "two tasks ran on one CPU at the same time");
  }
  return std::move(reader.record);
}

}  // namespace pinfold::harness
