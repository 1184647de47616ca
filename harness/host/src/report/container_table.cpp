#include "pinfold/harness/container_table.hpp"

#include <algorithm>
#include <array>

namespace pinfold::harness {
namespace {

std::string shown(const std::string& text) { return text.empty() ? "-" : text; }

}  // namespace

std::string container_table(const std::vector<ContainerRow>& rows) {
  constexpr std::size_t kColumns = 9;
  using Line = std::array<std::string, kColumns>;
  std::vector<Line> lines = {
      {"", "", "desired", "", "kernel: cpuset.*.effective", "", "process", "pages on", ""},
      {"container", "isolation", "cpus", "mems", "cpus", "mems", "Cpus_allowed_list", "nodes",
       "verdict"}};
  for (const ContainerRow& row : rows) {
    std::string verdict = "ok";
    for (const CheckedValue& check : row.checks) {
      if (!check.ok) verdict = "WRONG";
    }
    lines.push_back({row.desired.name, row.desired.isolation, row.desired.cpus,
                     row.desired.mems.empty() ? "(any)" : row.desired.mems,
                     shown(row.observed.cpus), shown(row.observed.mems),
                     shown(row.observed.cpus_allowed), shown(row.observed.page_nodes), verdict});
  }
  std::array<std::size_t, kColumns> widths{};
  for (std::size_t i = 1; i < lines.size(); ++i) {
    for (std::size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], lines[i][c].size());
  }
  // A title above two columns may be wider than both.
  widths[5] = std::max(widths[5], lines[0][4].size() - std::min(lines[0][4].size(), widths[4] + 2));
  widths[7] = std::max(widths[7], lines[0][7].size());
  std::string table;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string text;
    std::size_t column = 0;
    for (std::size_t c = 0; c < kColumns; ++c) {
      if (text.size() < column) text.resize(column, ' ');
      text += lines[i][c];
      column += widths[c] + 2;
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    table += text + "\n";
  }
  return table;
}

}  // namespace pinfold::harness
