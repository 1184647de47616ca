#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "pinfold/enforce/cgroup_fs.hpp"
#include "table.hpp"

/// Plays rows of the table on a kernel: this one, or a model.
namespace pinfold::test {

/// The state of a kernel after a row. Groups without a cpuset are left out.
struct Played {
  int failures = 0;
  std::map<std::string, CpuSet> effective;
  std::map<std::string, CpuSet> exclusive;  ///< effective exclusive CPUs; only Linux 7
  std::map<std::string, int> states;
  std::optional<CpuSet> isolated;  ///< of the machine; only Linux 7
};

/// Returns true if the groups are the same. Not whether `isolated` is: Linux keeps a CPU isolated
/// whose partition ends because another one lost its last CPU.
[[nodiscard]] bool same_groups(const Played& one, const Played& other);

/// In the table's form: "0 A1:0-1,B1:2-3 A1:P1,B1:P0".
[[nodiscard]] std::string to_string(const Played& played);

/// Returns a text such as "effective CPUs of A1: '0-1', expected '0'"; empty if the row is as
/// expected.
[[nodiscard]] std::string difference(const TableRow& row, const Played& played);

class Player {
 public:
  using SetOnline = std::function<Result<void>(CpuId cpu, bool online)>;

  /// `fs` is cgroup v2, starting at its mount, and must outlive the player. The machine has CPUs 0
  /// to 7.
  Player(enforce::CgroupFs& fs, SetOnline set_online);

  /// Makes the groups, plays the row and removes the groups. Errors: the kernel's error for an
  /// action that must succeed.
  [[nodiscard]] Result<Played> play(const TableRow& row);

 private:
  [[nodiscard]] std::string path_of(const std::string& group) const;
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] Result<void> make_top();
  [[nodiscard]] Result<void> end();
  /// Linux frees a removed group some time later; until then others cannot have its CPUs.
  [[nodiscard]] Result<void> give_back_cpus(const std::string& path);
  [[nodiscard]] Result<void> act(const TableAction& action);
  [[nodiscard]] Result<void> set_online(CpuId cpu, bool online);
  [[nodiscard]] Result<Played> observe();

  enforce::CgroupFs& fs_;
  SetOnline set_online_;
  TableKind kind_ = TableKind::kInPartition;
  CpuSet offline_;
};

}  // namespace pinfold::test
