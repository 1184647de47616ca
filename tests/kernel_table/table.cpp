#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

namespace pinfold::test {
namespace {

constexpr std::size_t kMaxScript = 1 << 20;
constexpr std::size_t kMaxRow = 1000;

tl::unexpected<Error> bad(std::string_view text, std::string_view expected) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}': expected {}", text, expected));
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// Splits a text; keeps empty parts.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<int> parse_number(std::string_view text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && rest == end) return value;
  return bad(text, "a number");
}

constexpr std::array<std::string_view, 3> kKinds = {"member", "root", "isolated"};

/// Checks a value such as "3-0", in the action "O3-0".
Result<void> check_online(std::string_view text, std::string_view value) {
  const auto parts = split(value, '-');
  const bool has_state = parts.size() == 2 && (parts[1] == "0" || parts[1] == "1");
  if (has_state) {
    PINFOLD_LET(const int cpu, parse_number(parts[0]));
    if (cpu >= 0) return {};
  }
  return bad(text, "O, a CPU, and -0 or -1");
}

Result<TableAction> parse_action(const std::string& group, std::string_view text) {
  using Kind = TableAction::Kind;
  const std::string value(text.substr(std::min<std::size_t>(1, text.size())));
  switch (text.empty() ? ' ' : text.front()) {
    case 'S':
      if (value != "+") return bad(text, "S+");
      return TableAction{Kind::kControllers, group, "+cpuset"};
    case 'C':
      if (const auto cpus = CpuSet::parse(value); !cpus || cpus->empty()) {
        return bad(text, "C and a list of CPUs");
      }
      return TableAction{Kind::kCpus, group, value};
    case 'P': {
      PINFOLD_LET(const int kind, parse_number(value));
      if (kind < 0 || kind > 2) return bad(text, "P0, P1 or P2");
      return TableAction{Kind::kPartition, group, std::string(kKinds[static_cast<unsigned>(kind)])};
    }
    case 'T':
      if (!value.empty()) return bad(text, "T");
      return TableAction{Kind::kProcess, group, "0"};
    case 'O':
      PINFOLD_TRY(check_online(text, value));
      return TableAction{Kind::kOnline, group, value};
    default:
      return bad(text, "an action: S, C, P, T or O");
  }
}

Result<std::vector<TableAction>> parse_cell(const std::string& group, std::string_view text) {
  std::vector<TableAction> actions;
  if (text == ".") return actions;
  for (const std::string_view part : split(text, ':')) {
    PINFOLD_LET(auto action, parse_action(group, part));
    actions.push_back(std::move(action));
  }
  return actions;
}

/// Turns "A2" into "A1/A2".
Result<std::string> parse_group(std::string_view name) {
  for (const std::string& group : table_groups()) {
    if (group == name || group.ends_with("/" + std::string(name))) return group;
  }
  return bad(name, "one of the groups A1, A2, A3 and B1");
}

/// Parses "A1:0-1,A2:" into texts by group. A comma is followed by a group or by more CPUs.
Result<std::map<std::string, std::string>> parse_results(std::string_view text) {
  std::map<std::string, std::string> results;
  if (text == ".") return results;
  std::string last;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      if (last.empty()) return bad(text, "GROUP:VALUE,...");
      results[last] += fmt::format(",{}", part);
      continue;
    }
    PINFOLD_LET(last, parse_group(part.substr(0, colon)));
    if (!results.emplace(last, part.substr(colon + 1)).second) {
      return bad(text, "each group once");
    }
  }
  return results;
}

/// "A1:P0,B1:P-1"
Result<std::map<std::string, int>> parse_states(std::string_view text) {
  std::map<std::string, int> states;
  PINFOLD_LET(const auto results, parse_results(text));
  for (const auto& [group, value] : results) {
    if (value.empty() || value.front() != 'P') return bad(value, "P and a state");
    PINFOLD_LET(const int state, parse_number(std::string_view(value).substr(1)));
    if (state < -2 || state > 2) return bad(value, "P-2 to P2");
    states[group] = state;
  }
  return states;
}

/// Replaces variables in a row, "$NAME", by their values.
Result<std::string> replace_variables(std::string_view row,
                                      const std::map<std::string, std::string>& variables) {
  std::string text;
  for (const std::string& word : words_of(row)) {
    if (word.front() != '$') {
      text += word + " ";
      continue;
    }
    const auto value = variables.find(word.substr(1));
    if (value == variables.end()) return bad(word, "a variable of the script");
    text += value->second + " ";
  }
  return text;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// Reads a line NAME="VALUE".
void add_variable(std::string_view line, std::map<std::string, std::string>& variables) {
  const std::size_t equal = line.find("=\"");
  if (equal == std::string_view::npos || !line.ends_with('"') || equal + 2 >= line.size()) return;
  if (!is_name(line.substr(0, equal))) return;
  std::string& value = variables[std::string(line.substr(0, equal))];
  value = line.substr(equal + 2, line.size() - equal - 3);
}

std::string_view without_space_around(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

Result<TableRow> parse_line(std::string_view line,
                            const std::map<std::string, std::string>& variables) {
  if (line.size() > kMaxRow) return bad(line.substr(0, 40), "a shorter line");
  if (line.size() < 2 || line.front() != '"' || line.back() != '"') {
    return bad(line, "a row in quotes");
  }
  PINFOLD_LET(const std::string row, replace_variables(line.substr(1, line.size() - 2), variables));
  return parse_row(row);
}

}  // namespace

const std::vector<std::string>& table_groups() {
  static const std::vector<std::string> kGroups = {"A1", "A1/A2", "A1/A2/A3", "B1"};
  return kGroups;
}

Result<int> state_of(std::string_view partition) {
  const std::string_view kind = partition.substr(0, partition.find(' '));
  const auto* const found = std::find(kKinds.begin(), kKinds.end(), kind);
  if (found == kKinds.end()) {
    return bad(partition, "a value of cpuset.cpus.partition");
  }
  const int state = static_cast<int>(found - kKinds.begin());
  return kind.size() == partition.size() ? state : -state;
}

Result<TableRow> parse_row(std::string_view text) {
  const std::vector<std::string> words = words_of(text);
  const std::vector<std::string>& groups = table_groups();
  const std::size_t cells = 1 + 2 * groups.size();
  if (words.size() <= cells || words.size() > cells + 3) {
    return bad(text, fmt::format("{} to {} columns", cells + 1, cells + 3));
  }
  TableRow row;
  row.text = fmt::format("{}", fmt::join(words, " "));
  PINFOLD_LET(auto top, parse_cell("", words[0]));
  row.before.push_back(std::move(top));
  for (std::size_t i = 1; i < cells; ++i) {
    PINFOLD_LET(auto cell, parse_cell(groups[(i - 1) % groups.size()], words[i]));
    (i <= groups.size() ? row.before : row.after).push_back(std::move(cell));
  }
  PINFOLD_LET(row.failures, parse_number(words[cells]));
  if (words.size() > cells + 1) {
    PINFOLD_LET(const auto results, parse_results(words[cells + 1]));
    for (const auto& [group, value] : results) {
      PINFOLD_LET(row.effective[group], CpuSet::parse(value));
    }
  }
  if (words.size() > cells + 2) {
    PINFOLD_LET(row.states, parse_states(words[cells + 2]));
  }
  return row;
}

Result<std::vector<TableRow>> parse_table(std::string_view script) {
  if (script.size() > kMaxScript) {
    return fail(ErrorCode::kInvalidArgument, "a script of more than 1 MiB");
  }
  std::map<std::string, std::string> variables;
  std::vector<TableRow> rows;
  bool is_inside = false;
  int number_of_line = 0;
  for (const std::string_view raw : split(script, '\n')) {
    ++number_of_line;
    const std::string_view line = without_space_around(raw);
    if (!is_inside) {
      is_inside = line == "TEST_MATRIX=(";
      add_variable(line, variables);
      continue;
    }
    if (line == ")") return rows;
    if (line.empty() || line.front() == '#') continue;
    PINFOLD_LET_WRAP(auto row, parse_line(line, variables), fmt::format("line {}", number_of_line));
    rows.push_back(std::move(row));
  }
  return fail(ErrorCode::kInvalidArgument,
              is_inside ? "TEST_MATRIX has no end" : "the script has no TEST_MATRIX");
}

}  // namespace pinfold::test
