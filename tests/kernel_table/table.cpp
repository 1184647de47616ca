#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>
#include <utility>

namespace pinfold::test {
namespace {

constexpr std::size_t kMaxScript = 1 << 20;
constexpr std::size_t kMaxRow = 1000;
constexpr std::string_view kRemoteTable = "REMOTE_TEST_MATRIX=(";

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

/// Returns "3-0" for the action "O3-0" or, in Linux 7's notation, "O3=0".
Result<std::string> parse_online(std::string_view text, TableKind kind) {
  const char separator = kind == TableKind::kInPartition ? '-' : '=';
  const auto parts = split(text.substr(1), separator);
  const bool has_state = parts.size() == 2 && (parts[1] == "0" || parts[1] == "1");
  if (has_state) {
    PINFOLD_LET(const int cpu, parse_number(parts[0]));
    if (cpu >= 0) return fmt::format("{}-{}", parts[0], parts[1]);
  }
  return bad(text, fmt::format("O, a CPU, and {0}0 or {0}1", separator));
}

/// Checks the list of CPUs of an action; Linux 7's notation also has empty ones.
Result<void> check_cpus(std::string_view text, std::string_view list, TableKind kind) {
  const auto cpus = CpuSet::parse(list);
  const bool may_be_empty = kind != TableKind::kInPartition;
  if (cpus && (may_be_empty || !cpus->empty())) return {};
  return bad(text, fmt::format("{} and a list of CPUs", text.front()));
}

Result<TableAction> parse_action(const std::string& group, std::string_view text, TableKind table) {
  using Kind = TableAction::Kind;
  const bool is_linux7 = table != TableKind::kInPartition;
  const std::string value(text.substr(std::min<std::size_t>(1, text.size())));
  switch (text.empty() ? ' ' : text.front()) {
    case 'S':
      if (is_linux7) break;
      if (value != "+") return bad(text, "S+");
      return TableAction{Kind::kControllers, group, "+cpuset"};
    case 'C':
      PINFOLD_TRY(check_cpus(text, value, table));
      return TableAction{Kind::kCpus, group, value};
    case 'X':
      if (!is_linux7) break;
      PINFOLD_TRY(check_cpus(text, value, table));
      return TableAction{Kind::kExclusive, group, value};
    case 'P': {
      PINFOLD_LET(const int kind, parse_number(value));
      if (kind < 0 || kind > 2) return bad(text, "P0, P1 or P2");
      return TableAction{Kind::kPartition, group, std::string(kKinds[static_cast<unsigned>(kind)])};
    }
    case 'T':
      if (!value.empty()) return bad(text, "T");
      return TableAction{Kind::kProcess, group, "0"};
    case 'O': {
      PINFOLD_LET(auto online, parse_online(text, table));
      return TableAction{Kind::kOnline, group, std::move(online)};
    }
    default:
      break;
  }
  return bad(text, fmt::format("an action: {}, C, P, T or O", is_linux7 ? "X" : "S"));
}

/// "CX1-2" is "C1-2" and "X1-2".
Result<std::vector<TableAction>> parse_cell(const std::string& group, std::string_view text,
                                            TableKind kind) {
  std::vector<TableAction> actions;
  if (text == ".") return actions;
  for (std::string_view part : split(text, ':')) {
    if (part.starts_with("CX")) {
      part.remove_prefix(1);
      PINFOLD_LET(auto cpus, parse_action(group, fmt::format("C{}", part.substr(1)), kind));
      actions.push_back(std::move(cpus));
    }
    PINFOLD_LET(auto action, parse_action(group, part, kind));
    actions.push_back(std::move(action));
  }
  return actions;
}

/// "A2" of "A1/A2"
std::string_view last_part(std::string_view group) { return group.substr(group.rfind('/') + 1); }

/// Turns "A2" into "A1/A2".
Result<std::string> parse_group(std::string_view name, TableKind kind) {
  std::vector<std::string_view> names;
  for (const std::string& group : table_groups(kind)) {
    names.push_back(last_part(group));
    if (names.back() == name) return group;
  }
  return bad(name, fmt::format("one of the groups {}", fmt::join(names, ", ")));
}

using Results = std::map<std::string, std::string>;  ///< texts by the name of a group

/// Parses Linux 7's "A1:0-1|XA2:|A3". Its script ignores what follows a second colon.
Result<Results> parse_linux7_results(std::string_view text) {
  Results results;
  for (const std::string_view part : split(text, '|')) {
    const auto words = split(part, ':');
    const std::string value(words.size() > 1 ? words[1] : "");
    const auto [at, is_new] = results.emplace(words[0], value);
    if (!is_new && at->second != value) return bad(text, "each group once");
  }
  return results;
}

/// Parses "A1:0-1,A2:". A comma is followed by a group or by more CPUs.
Result<Results> parse_results(std::string_view text, TableKind kind) {
  if (text == ".") return Results{};
  if (kind != TableKind::kInPartition) return parse_linux7_results(text);
  Results results;
  std::string last;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      if (last.empty()) return bad(text, "GROUP:VALUE,...");
      results[last] += fmt::format(",{}", part);
      continue;
    }
    last = part.substr(0, colon);
    if (!results.emplace(last, part.substr(colon + 1)).second) {
      return bad(text, "each group once");
    }
  }
  return results;
}

/// Reads the column with effective CPUs; those that are exclusive have an X before the group.
Result<void> parse_sets(std::string_view text, TableRow& row) {
  PINFOLD_LET(const auto results, parse_results(text, row.kind));
  for (const auto& [name, value] : results) {
    const bool is_exclusive = row.kind != TableKind::kInPartition && name.starts_with('X');
    PINFOLD_LET(const std::string group, parse_group(name.substr(is_exclusive ? 1 : 0), row.kind));
    PINFOLD_LET((is_exclusive ? row.exclusive : row.effective)[group], CpuSet::parse(value));
  }
  return {};
}

/// "A1:P0,B1:P-1"
Result<std::map<std::string, int>> parse_states(std::string_view text, TableKind kind) {
  std::map<std::string, int> states;
  PINFOLD_LET(const auto results, parse_results(text, kind));
  for (const auto& [name, value] : results) {
    PINFOLD_LET(const std::string group, parse_group(name, kind));
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

Result<TableRow> parse_line(std::string_view line, TableKind kind,
                            const std::map<std::string, std::string>& variables) {
  if (line.size() > kMaxRow) return bad(line.substr(0, 40), "a shorter line");
  if (line.size() < 2 || line.front() != '"' || line.back() != '"') {
    return bad(line, "a row in quotes");
  }
  PINFOLD_LET(const std::string row, replace_variables(line.substr(1, line.size() - 2), variables));
  return parse_row(row, kind);
}

/// Parses "2-4", or "2-4|2-3": what the scheduler's domains say, and what the cpusets say.
Result<CpuSet> parse_isolated(std::string_view text) {
  if (text == ".") return CpuSet{};
  return CpuSet::parse(split(text, '|').back());
}

/// Reads a script line by line.
class Reader {
 public:
  explicit Reader(bool is_linux7) : is_linux7_(is_linux7) {}

  Result<void> read(std::string_view line) {
    if (!inside_) {
      begin(line);
    } else if (line == ")") {
      inside_.reset();
    } else if (!line.empty() && line.front() != '#') {
      PINFOLD_LET(auto row, parse_line(line, *inside_, variables_));
      rows_.push_back(std::move(row));
    }
    return {};
  }

  Result<std::vector<TableRow>> rows() && {
    if (inside_) return fail(ErrorCode::kInvalidArgument, "TEST_MATRIX has no end");
    if (!has_table_) return fail(ErrorCode::kInvalidArgument, "the script has no TEST_MATRIX");
    return std::move(rows_);
  }

 private:
  void begin(std::string_view line) {
    if (line == "TEST_MATRIX=(") {
      inside_ = is_linux7_ ? TableKind::kAtRoot : TableKind::kInPartition;
    } else if (line == kRemoteTable) {
      inside_ = TableKind::kRemote;
    } else {
      add_variable(line, variables_);
    }
    has_table_ = has_table_ || inside_;
  }

  bool is_linux7_;
  bool has_table_ = false;
  std::optional<TableKind> inside_;
  std::map<std::string, std::string> variables_;
  std::vector<TableRow> rows_;
};

}  // namespace

const std::vector<std::string>& table_groups(TableKind kind) {
  static const std::vector<std::string> kGroups = {"A1", "A1/A2", "A1/A2/A3", "B1"};
  static const std::vector<std::string> kRemote = {"p1",     "p2",     "p1/c11",
                                                   "p1/c12", "p2/c21", "p2/c22"};
  return kind == TableKind::kRemote ? kRemote : kGroups;
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

Result<TableRow> parse_row(std::string_view text, TableKind kind) {
  const std::vector<std::string> words = words_of(text);
  const std::vector<std::string>& groups = table_groups(kind);
  const std::size_t first = kind == TableKind::kInPartition ? 1 : 0;  // a cell of the top
  const std::size_t cells = first + 2 * groups.size();
  const std::size_t most = cells + (kind == TableKind::kAtRoot ? 4 : 3);
  if (words.size() <= cells || words.size() > most) {
    return bad(text, fmt::format("{} to {} columns", cells + 1, most));
  }
  TableRow row;
  row.kind = kind;
  row.text = fmt::format("{}", fmt::join(words, " "));
  for (std::size_t i = 0; i < cells; ++i) {
    const std::string group = i < first ? "" : groups[(i - first) % groups.size()];
    PINFOLD_LET(auto cell, parse_cell(group, words[i], kind));
    (i < first + groups.size() ? row.before : row.after).push_back(std::move(cell));
  }
  std::size_t column = cells;
  if (kind != TableKind::kRemote) {
    PINFOLD_LET(row.failures, parse_number(words[column++]));
  }
  if (column < words.size()) PINFOLD_TRY(parse_sets(words[column++], row));
  if (column < words.size()) {
    PINFOLD_LET(row.states, parse_states(words[column++], kind));
  }
  if (column < words.size()) {
    PINFOLD_LET(row.isolated, parse_isolated(words[column]));
  }
  return row;
}

Result<std::vector<TableRow>> parse_table(std::string_view script) {
  if (script.size() > kMaxScript) {
    return fail(ErrorCode::kInvalidArgument, "a script of more than 1 MiB");
  }
  Reader reader(script.find(kRemoteTable) != std::string_view::npos);
  std::string line;
  int number_of_line = 0;
  for (const std::string_view raw : split(script, '\n')) {
    ++number_of_line;
    line += without_space_around(raw);
    if (line.ends_with('\\')) {
      line.back() = ' ';
      continue;
    }
    PINFOLD_TRY_WRAP(reader.read(line), fmt::format("line {}", number_of_line));
    line.clear();
  }
  return std::move(reader).rows();
}

}  // namespace pinfold::test
