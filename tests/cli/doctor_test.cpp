#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "doctor_tree.hpp"
#include "run_program.hpp"

/// `pinfold doctor` on the tree of a machine.
namespace pinfold {
namespace {

using test::DoctorTree;
using test::Outcome;
using test::run_shell;
using testing::HasSubstr;
using testing::StartsWith;

Outcome doctor(const std::string& root, const std::string& arguments = "") {
  return run_shell(fmt::format("env -i LANG=C.UTF-8 '{}' doctor --root '{}' {}", PINFOLD_COMMAND,
                               root, arguments));
}

/// The time of the last change of each file.
std::map<std::string, std::filesystem::file_time_type> times_of(const std::string& root) {
  std::map<std::string, std::filesystem::file_time_type> times;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_symlink()) times[entry.path()] = entry.last_write_time();
  }
  return times;
}

TEST(DoctorCommand, PrintsAllChecksAndWritesNothing) {
  const DoctorTree tree;
  const auto before = times_of(tree.path());
  const Outcome outcome = doctor(tree.path());
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, StartsWith("0 problems, 0 warnings, 0 unknown, 26 ok  " + tree.path() +
                                      "/\n✓ cgroup-mode         cgroup v2 at /sys/fs/cgroup\n"));
  EXPECT_EQ(times_of(tree.path()), before);
}

TEST(DoctorCommand, PrintsProblemsFirstWithTheirRemedies) {
  const DoctorTree tree;
  tree.write("sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n");
  tree.write("sys/devices/system/cpu/nohz_full", "0-7\n");
  const Outcome outcome = doctor(tree.path());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, StartsWith("1 problem, 1 warning, 0 unknown, 24 ok  " + tree.path() +
                                      "/\n"
                                      "✗ cgroup-enabled      '/sys/fs/cgroup/"
                                      "cgroup.subtree_control' lacks cpuset\n"));
  EXPECT_THAT(outcome.out,
              HasSubstr("\n    echo '+cpuset' > '/sys/fs/cgroup/cgroup.subtree_control'\n"
                        "! nohz_full           nohz_full=0-7 has reserved CPUs 0-1\n"));
}

TEST(DoctorCommand, SucceedsWithWarnings) {
  const DoctorTree tree;
  tree.write("sys/devices/system/cpu/nohz_full", "0-7\n");
  EXPECT_EQ(doctor(tree.path()).status, 0);
}

TEST(DoctorCommand, PrintsJson) {
  const DoctorTree tree;
  tree.write("srv/pinfold/cpu_manager_state", "{");
  const Outcome outcome = doctor(tree.path(), "-o json");
  EXPECT_EQ(outcome.status, 1);
  const auto out = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(out.is_object()) << outcome.out;
  EXPECT_EQ(out["problemCount"], 1);
  EXPECT_EQ(out["checks"][0]["name"], "state-files");
  EXPECT_EQ(out["checks"][0]["remedy"], "pinfold checkpoint repair '/srv/pinfold'");
}

TEST(DoctorCommand, TakesAnotherStateDirectoryAndRoot) {
  const DoctorTree tree;
  const Outcome outcome =
      doctor(tree.path(), "--state-dir /none --cgroup-root /sys/fs/cgroup/kubepods.slice/pinfold");
  EXPECT_THAT(outcome.out, HasSubstr("'/none' does not exist yet"));
  EXPECT_THAT(outcome.out, HasSubstr("/sys/fs/cgroup/kubepods.slice"));
}

TEST(DoctorCommand, RejectsARootThatDoesNotExist) {
  const Outcome outcome = doctor("/nonexistent");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("root '/nonexistent'"));
}

}  // namespace
}  // namespace pinfold
