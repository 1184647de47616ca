#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

/// The table in tools/testing/selftests/cgroup/test_cpuset_prs.sh of the Linux sources: actions on
/// the groups A1, A1/A2, A1/A2/A3 and B1, and the expected results.
namespace pinfold::test {

struct TableAction {
  enum class Kind {
    kControllers,  ///< S: enables the cpuset controller ("+") for the groups below
    kCpus,         ///< C: cpuset.cpus
    kPartition,    ///< P: cpuset.cpus.partition: "member", "root" or "isolated"
    kProcess,      ///< T: a process enters
    kOnline,       ///< O: a CPU goes online ("3-1") or offline ("3-0")
  };
  Kind kind = Kind::kControllers;
  std::string group;  ///< "", "A1", "A1/A2", "A1/A2/A3" or "B1"
  std::string value;

  friend bool operator==(const TableAction&, const TableAction&) = default;
};

/// The actions of a cell of the table: at most one per group.
using TableActions = std::vector<std::vector<TableAction>>;

struct TableRow {
  std::string text;     ///< with the values of variables
  TableActions before;  ///< must succeed
  TableActions after;
  int failures = 0;                         ///< cells of `after` in which an action fails
  std::map<std::string, CpuSet> effective;  ///< by group
  std::map<std::string, int> states;        ///< by group; see state_of
};

/// The groups of the table in its order, without the top: "A1", "A1/A2", "A1/A2/A3", "B1".
[[nodiscard]] const std::vector<std::string>& table_groups();

/// cpuset.cpus.partition as the table writes it: 0 member, 1 root, 2 isolated; negative: invalid.
/// Errors: kInvalidArgument.
[[nodiscard]] Result<int> state_of(std::string_view partition);

/// Errors: kInvalidArgument.
[[nodiscard]] Result<TableRow> parse_row(std::string_view text);

/// The rows of TEST_MATRIX in the script, which may use variables of the script.
/// Errors: kInvalidArgument, with the line.
[[nodiscard]] Result<std::vector<TableRow>> parse_table(std::string_view script);

}  // namespace pinfold::test
