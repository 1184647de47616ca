#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <vector>

#include "model_kernel.hpp"

/// How cgroup v1 treats nested cpusets, idle groups and memory limits, for which Linux has no
/// table: the same rows on the model and on this kernel.
namespace pinfold::test {
namespace {

struct Write {
  const char* group;
  const char* file;
  const char* value;
  int error;
};
struct Value {
  const char* group;
  const char* file;
  const char* value;
};
/// Begins with the groups "A", "A/B" and "A/B/C", each with CPUs 0-1.
struct Row {
  const char* name;
  std::vector<Write> writes;
  std::vector<Value> then;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"a group is not narrowed below those in it",
       {{"A", "cpuset.cpus", "0", EBUSY}, {"A/B", "cpuset.cpus", "0", EBUSY}},
       {{"A", "cpuset.cpus", "0-1"}, {"A/B/C", "cpuset.cpus", "0-1"}}},
      {"it is after they are, from the deepest on",
       {{"A/B/C", "cpuset.cpus", "0", 0},
        {"A/B", "cpuset.cpus", "0", 0},
        {"A", "cpuset.cpus", "0", 0}},
       {{"A", "cpuset.cpus", "0"}}},
      {"what is in a group does not exceed it",
       {{"A/B/C", "cpuset.cpus", "0", 0},
        {"A/B", "cpuset.cpus", "0", 0},
        {"A/B/C", "cpuset.cpus", "0-1", EACCES},
        {"A/B", "cpuset.cpus", "0-1", 0},
        {"A/B/C", "cpuset.cpus", "0-1", 0}},
       {{"A/B/C", "cpuset.cpus", "0-1"}}},
      {"a group without processes loses its CPUs, one around others does not",
       {{"A/B", "cpuset.cpus", "", EBUSY},
        {"A/B/C", "cpuset.cpus", "", 0},
        {"A/B", "cpuset.cpus", "0", 0}},
       {{"A/B/C", "cpuset.cpus", ""}, {"A/B", "cpuset.cpus", "0"}}},
      {"the weight of an idle group is the least, and cannot be written",
       {{"A", "cpu.idle", "1", 0}, {"A", "cpu.shares", "2", EINVAL}, {"A", "cpu.idle", "1", 0}},
       {{"A", "cpu.shares", "3"}, {"A/B", "cpu.idle", "0"}, {"A/B", "cpu.shares", "1024"}}},
      {"it is the usual one afterwards",
       {{"A", "cpu.shares", "2", 0}, {"A", "cpu.idle", "1", 0}, {"A", "cpu.idle", "0", 0}},
       {{"A", "cpu.shares", "1024"}}},
      {"a group is idle or not", {{"A", "cpu.idle", "2", EINVAL}}, {{"A", "cpu.idle", "0"}}},
  };
  return kRows;
}

constexpr const char* kTopOfRows = "pinfold-rows";

std::string group_named(const std::string& name) { return fmt::format("{}/{}", kTopOfRows, name); }

using Fs = std::map<std::string, enforce::CgroupFs*>;  ///< by controller
enforce::CgroupFs& fs_of(const Fs& all, const std::string& file) {
  return *all.at(file.substr(0, file.find('.')));
}

std::vector<std::string> groups() {
  return {kTopOfRows, group_named("A"), group_named("A/B"), group_named("A/B/C")};
}

Result<void> begin(const Fs& all) {
  for (const std::string& group : groups()) {
    for (const auto& [controller, fs] : all) {
      PINFOLD_TRY(fs->make_group(group));
    }
    PINFOLD_TRY(all.at("cpuset")->write(group, "cpuset.mems", "0"));
    PINFOLD_TRY(all.at("cpuset")->write(group, "cpuset.cpus", "0-1"));
  }
  return {};
}

void end(const Fs& all) {
  const auto made = groups();
  for (auto group = made.rbegin(); group != made.rend(); ++group) {
    for (const auto& [controller, fs] : all) (void)fs->remove_group(*group);
  }
}

void play(const Row& row, const Fs& all) {
  SCOPED_TRACE(row.name);
  const auto begun = begin(all);
  EXPECT_TRUE(begun) << (begun ? "" : begun.error().message);
  for (const Write& one : row.writes) {
    const auto written = fs_of(all, one.file).write(group_named(one.group), one.file, one.value);
    EXPECT_EQ(written ? 0 : written.error().sys_errno, one.error)
        << one.group << " " << one.file << " := '" << one.value << "'";
  }
  for (const Value& one : row.then) {
    const auto has = fs_of(all, one.file).read(group_named(one.group), one.file);
    EXPECT_EQ(has.value_or("no file"), one.value) << one.group << " " << one.file;
  }
  end(all);
}

TEST(V1Rows, TheModelAgrees) {
  for (const Row& row : rows()) {
    ModelKernel kernel(enforce::CgroupVersion::kV1, CpuSet::range(0, 1), {0});
    const auto fs = kernel.fs();
    play(row, {{"cpuset", fs.get()}, {"cpu", fs.get()}});
  }
}

TEST(V1Rows, ThisKernelAgrees) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make control groups";
  const auto cpuset = enforce::open_cgroup_fs("/sys/fs/cgroup/cpuset");
  const auto cpu = enforce::open_cgroup_fs("/sys/fs/cgroup/cpu");
  if (!cpuset || !cpu) GTEST_SKIP() << "this machine does not have cgroup v1";
  const bool has_idle = (*cpu)->make_group(kTopOfRows) && (*cpu)->read(kTopOfRows, "cpu.idle");
  end({{"cpu", cpu->get()}});
  if (!has_idle) GTEST_SKIP() << "needs cpu.idle (Linux 5.15)";
  if ((*cpuset)->read("", "cpuset.cpus").value_or("").starts_with("0-") == false) {
    GTEST_SKIP() << "needs CPUs 0 and 1";
  }
  for (const Row& row : rows()) play(row, {{"cpuset", cpuset->get()}, {"cpu", cpu->get()}});
}

}  // namespace
}  // namespace pinfold::test
