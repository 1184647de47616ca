#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "kubelet_tree.hpp"
#include "run_program.hpp"

/// `pinfold explain --memory` on the captured tree of a node with a kubelet.
namespace pinfold {
namespace {

using nlohmann::json;
using test::KubeletTree;
using test::Outcome;
using test::run_shell;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ExplainMemory : public testing::Test {
 protected:
  void SetUp() override {
    tree_.write_group(tree_.web(), "2-3", "1", {1001});
    tree_.dir().write(fmt::format("var/log/pods/shop_web_{}/app/0.log", KubeletTree::kWebUid), "");
  }
  [[nodiscard]] Outcome explain(const std::string& arguments) const {
    return run_shell(
        fmt::format("env -i LANG=C.UTF-8 '{}' explain --memory --node-from-kubelet "
                    "--sysfs '{}' {}",
                    PINFOLD_COMMAND, tree_.path(), arguments));
  }
  [[nodiscard]] std::string web_directory() const { return "/sys/fs/cgroup/" + tree_.web(); }

  KubeletTree tree_;
};

TEST_F(ExplainMemory, NamesTheGroupThatLimitsAPod) {
  const Outcome web = explain("shop/web");
  EXPECT_EQ(web.status, 0) << web.err;
  EXPECT_THAT(web.out, AllOf(HasSubstr("shop/web/app may bind memory to NUMA node 1.\n"),
                             HasSubstr(fmt::format("cpuset.mems of '{}' is 1", web_directory())),
                             HasSubstr("fail with EINVAL unless they name a NUMA node among 1"),
                             Not(HasSubstr("EPERM"))));
  EXPECT_EQ(explain(KubeletTree::kWebUid).out, web.out);
  EXPECT_EQ(explain("web").out, web.out);
}

TEST_F(ExplainMemory, AContainerThatNothingLimitsHasNoTable) {
  const Outcome log = explain("log");
  EXPECT_EQ(log.status, 0) << log.err;
  EXPECT_THAT(log.out, AllOf(HasSubstr("shop/log/agent may bind memory to NUMA nodes 0-1."),
                             Not(HasSubstr("WHY NOT"))));
}

TEST_F(ExplainMemory, TakesProcessesAndGroups) {
  tree_.write_group("system.slice/sshd.service", "0-7", "0-1", {50});
  tree_.dir().write("proc/1001/status",
                    "Name:\tapp\nCapEff:\t0000000000000000\nSeccomp:\t2\nMems_allowed_list:\t1\n");
  const Outcome process = explain("1001");
  EXPECT_EQ(process.status, 0) << process.err;
  EXPECT_THAT(process.out, AllOf(HasSubstr("process 1001 of shop/web/app may bind memory to NUMA "
                                           "node 1."),
                                 HasSubstr("EPERM: the process has a seccomp filter")));
  const Outcome both = explain(fmt::format("-o json 50 /{}", tree_.web()));
  EXPECT_EQ(both.status, 0) << both.err;
  const json groups = json::parse(both.out).at("groups");
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_TRUE(groups[0].at("container").is_null());
  EXPECT_EQ(groups[0].at("pid"), 50);
  EXPECT_EQ(groups[1].at("container").at("container"), "app");
  EXPECT_EQ(groups[1].at("cgroupPath"), web_directory());
  EXPECT_EQ(groups[1].at("mems"), "1");
  EXPECT_EQ(groups[1].at("limits").at(0).at("reason"), "cgroup");
}

TEST_F(ExplainMemory, SaysWhatIsUnknown) {
  const Outcome pod = explain("shop/none");
  EXPECT_EQ(pod.status, 2);
  EXPECT_THAT(pod.err, HasSubstr("pod 'shop/none': no container of it has a control group"));
  EXPECT_THAT(explain("4711").err, HasSubstr("process 4711: expected the id of a running process"));
  EXPECT_THAT(explain("--pod web").err, HasSubstr("--pod"));
  EXPECT_THAT(explain("").err, HasSubstr("--memory: expected a pod, the id of a process"));
}

/// A node whose state is Pinfold's own, with the memory manager.
TEST(ExplainMemoryOfPinfold, NamesWhatTheMemoryManagerAssigned) {
  const KubeletTree tree;
  const test::TempDir files;
  files.write("config.yaml",
              "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\nmemoryManagerPolicy: Static\n"
              "topologyManagerPolicy: single-numa-node\nsystemReserved: {memory: 512Mi}\n"
              "evictionHard: {}\nreservedMemory: [{numaNode: 0, limits: {memory: 512Mi}}]\n");
  files.write(
      "pod.yaml",
      "kind: Pod\nmetadata: {name: ledger, namespace: shop, uid: u-ledger}\nspec: {containers: "
      "[{name: main, resources: {limits: {cpu: 4, memory: 2Gi}}}]}\n");
  const std::string node = fmt::format(
      "--state-dir '{0}/state' --config '{0}/config.yaml' --sysfs "
      "'{1}'",
      files.path(), tree.path());
  const Outcome admitted =
      run_shell(fmt::format("mkdir -m 700 '{0}/state' && '{1}' admit "
                            "--no-enforce {2} '{0}/pod.yaml'",
                            files.path(), PINFOLD_COMMAND, node));
  ASSERT_EQ(admitted.status, 0) << admitted.err;
  tree.write_group("pinfold/podu-ledger/main", "4-7", "1", {1001});
  const Outcome outcome =
      run_shell(fmt::format("'{}' explain --memory {} ledger", PINFOLD_COMMAND, node));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("shop/ledger/main may bind memory to NUMA node 1."),
                    HasSubstr("the memory manager assigned 2Gi of memory on NUMA node 1")));
  tree.write_group("other/podu-ledger/main", "4-7", "0", {1001});
  tree.dir().remove("sys/fs/cgroup/pinfold");
  const Outcome elsewhere = run_shell(fmt::format(
      "'{}' explain --memory --cgroup-root /sys/fs/cgroup/other {} ledger", PINFOLD_COMMAND, node));
  EXPECT_THAT(elsewhere.out, HasSubstr("may bind memory to NUMA node 0.")) << elsewhere.err;
}

}  // namespace
}  // namespace pinfold
