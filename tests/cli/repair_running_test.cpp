#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "kubelet_tree.hpp"
#include "run_program.hpp"

/// `pinfold checkpoint repair` of a torn file on the tree of a node whose containers run.
namespace pinfold {
namespace {

using test::KubeletTree;
using test::Outcome;
using test::run_shell;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RepairRunning : public testing::Test {
 protected:
  /// The file ends before the last pod, shop/db.
  void SetUp() override {
    tree_.dir().write("var/lib/kubelet/cpu_manager_state",
                      fmt::format(R"({{"policyName":"static","defaultCpuSet":"0-1,6-7",)"
                                  R"("entries":{{"{}":{{"app":"2-3"}},"11)",
                                  KubeletTree::kWebUid));
  }

  [[nodiscard]] Outcome repair(const std::string& arguments) const {
    return run_shell(
        fmt::format("env -i LANG=C.UTF-8 '{0}' checkpoint repair "
                    "'{1}/var/lib/kubelet' --config '{1}' {2} 2>&1",
                    PINFOLD_COMMAND, tree_.path(), arguments));
  }
  [[nodiscard]] Outcome repair_here(const std::string& arguments = "") const {
    return repair("--sysfs '" + tree_.path() + "' " + arguments);
  }
  [[nodiscard]] std::string file() const {
    std::ifstream stream(tree_.dir() / "var/lib/kubelet/cpu_manager_state");
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  KubeletTree tree_;
};

TEST_F(RepairRunning, ReadsBackWhatRunsWithoutAnOption) {
  const std::string torn = file();
  const Outcome dry = repair_here("--dry-run");
  EXPECT_EQ(dry.status, 0) << dry.out;
  EXPECT_THAT(dry.out,
              AllOf(HasSubstr("read back from the kernel:\n"),
                    HasSubstr(fmt::format("  {}/postgres  CPUs 4-5, from '{}/sys/fs/cgroup/",
                                          KubeletTree::kDbUid, tree_.path())),
                    HasSubstr(KubeletTree::db_id() + ".scope/cpuset.cpus'\n"),
                    HasSubstr("kernel: 3 running containers in '" + tree_.path()),
                    HasSubstr("start-up validation: passes\nnothing written (--dry-run)\n"),
                    Not(HasSubstr("could not be saved"))));
  EXPECT_EQ(file(), torn);
  EXPECT_EQ(repair_here().status, 0);
  const auto written = nlohmann::json::parse(file());
  EXPECT_EQ(written.at("entries").at(KubeletTree::kDbUid).at("postgres"), "4-5");
  EXPECT_EQ(written.at("entries").at(KubeletTree::kWebUid).at("app"), "2-3");
  EXPECT_EQ(written.at("defaultCpuSet"), "0-1,6-7");
  EXPECT_THAT(repair_here().out, AllOf(HasSubstr("nothing to repair\n"), Not(HasSubstr("kernel"))));
}

TEST_F(RepairRunning, NamesItsSourceInJson) {
  const auto document = nlohmann::json::parse(repair_here("--dry-run -o json").out);
  const auto& read = document.at("readBack").at(0);
  EXPECT_EQ(read.at("object"), std::string(KubeletTree::kDbUid) + "/postgres");
  EXPECT_EQ(read.at("resource"), "cpu");
  EXPECT_EQ(read.at("text"), "CPUs 4-5");
  EXPECT_THAT(read.at("source").get<std::string>(), HasSubstr("/cpuset.cpus"));
  EXPECT_THAT(document.at("kernel").get<std::string>(), HasSubstr("3 running containers"));
}

TEST_F(RepairRunning, NamesAnOverlapAndWritesNothing) {
  const std::string torn = file();
  tree_.write_group(tree_.log(), "0-1,5-7", "0-1", {1003});
  tree_.write_quota(
      tree_.container_group(tree_.pod_group(KubeletTree::kDbUid, ""), KubeletTree::db_id()), 200000,
      0);
  const Outcome refused = repair_here();
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(
      refused.out,
      AllOf(HasSubstr(fmt::format("'{}/agent' may also run on some of them", KubeletTree::kLogUid)),
            HasSubstr("nothing written: something would be lost")));
  EXPECT_EQ(file(), torn);
}

TEST_F(RepairRunning, SaysWhyItReadsNoContainers) {
  tree_.dir().write("machine.json", run_shell(fmt::format("'{}' topology --sysfs '{}' -o json",
                                                          PINFOLD_COMMAND, tree_.path()))
                                        .out);
  EXPECT_THAT(repair("--machine '" + tree_.path() + "/machine.json'").out,
              HasSubstr("kernel: running containers were not read: the machine is that of a file "
                        "(--machine)\n"));
  tree_.dir().remove("sys/fs/cgroup");
  const Outcome bare = repair_here();
  EXPECT_EQ(bare.status, 1);
  EXPECT_THAT(bare.out, HasSubstr("kernel: running containers were not read: no cpusets in '" +
                                  tree_.path() + "/sys/fs/cgroup'\n"));
}

}  // namespace
}  // namespace pinfold
