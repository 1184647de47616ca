#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

/// The tables in tools/testing/selftests/cgroup/test_cpuset_prs.sh of the Linux sources: actions on
/// a few groups, and the expected results.
namespace pinfold::test {

/// Where the groups of a table are, and in which notation it is.
enum class TableKind {
  kInPartition,  ///< Linux 6.1: below a partition with CPUs 0-6
  kAtRoot,       ///< Linux 7: below the root
  kRemote,       ///< Linux 7, REMOTE_TEST_MATRIX: below a group with the exclusive CPUs 1-7
};

struct TableAction {
  enum class Kind {
    kControllers,  ///< S: enables the cpuset controller ("+") for the groups below
    kCpus,         ///< C: cpuset.cpus
    kExclusive,    ///< X: cpuset.cpus.exclusive; CX: both
    kPartition,    ///< P: cpuset.cpus.partition: "member", "root" or "isolated"
    kProcess,      ///< T: a process enters
    kOnline,       ///< O: a CPU goes online ("3-1") or offline ("3-0")
  };
  Kind kind = Kind::kControllers;
  std::string group;  ///< one of table_groups, or "": that around them
  std::string value;

  friend bool operator==(const TableAction&, const TableAction&) = default;
};

/// The actions of a cell of the table: at most one per group.
using TableActions = std::vector<std::vector<TableAction>>;

struct TableRow {
  TableKind kind = TableKind::kInPartition;
  std::string text;     ///< with the values of variables
  TableActions before;  ///< must succeed
  TableActions after;
  int failures = 0;                         ///< cells of `after` in which an action fails
  std::map<std::string, CpuSet> effective;  ///< by group
  std::map<std::string, CpuSet> exclusive;  ///< effective exclusive CPUs by group
  std::map<std::string, int> states;        ///< by group; see state_of
  std::optional<CpuSet> isolated;           ///< of the machine
};

/// The groups of a table in its order, without that around them: "A1", "A1/A2", "A1/A2/A3", "B1".
[[nodiscard]] const std::vector<std::string>& table_groups(TableKind kind);

/// cpuset.cpus.partition as the table writes it: 0 member, 1 root, 2 isolated; negative: invalid.
/// Errors: kInvalidArgument.
[[nodiscard]] Result<int> state_of(std::string_view partition);

/// Parses a row. Errors: kInvalidArgument.
[[nodiscard]] Result<TableRow> parse_row(std::string_view text,
                                         TableKind kind = TableKind::kInPartition);

/// Parses the rows of TEST_MATRIX and REMOTE_TEST_MATRIX in the script, which may use its
/// variables. A script with REMOTE_TEST_MATRIX is Linux 7's.
/// Errors: kInvalidArgument, with the line.
[[nodiscard]] Result<std::vector<TableRow>> parse_table(std::string_view script);

}  // namespace pinfold::test
