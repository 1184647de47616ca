#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kubelet_tree.hpp"
#include "run_program.hpp"
#include "temp_dir.hpp"

/// `pinfold explain --node-from-kubelet` on the captured tree of a node.
namespace pinfold {
namespace {

using test::KubeletTree;
using test::Outcome;
using test::run_shell;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string pod(const std::string& name, const std::string& uid, const std::string& container,
                const std::string& resources) {
  return fmt::format(
      R"({{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{}", "namespace": "shop", )"
      R"("uid": "{}"}}, "spec": {{"containers": [{{"name": "{}", "image": "x", )"
      R"("resources": {}}}]}}}})",
      name, uid, container, resources);
}

/// A node with shop/web and shop/db, which have exclusive CPUs, and shop/log, which shares.
class ExplainKubelet : public testing::Test {
 protected:
  void SetUp() override {
    tree_.dir().write(fmt::format("var/log/pods/shop_web_{}/app/0.log", KubeletTree::kWebUid), "");
    const std::string two = R"({"limits": {"cpu": "2", "memory": "1Gi"}})";
    files_.write("running.json",
                 fmt::format(R"({{"apiVersion": "v1", "kind": "List", "items": [{}, {}, {}]}})",
                             pod("web", KubeletTree::kWebUid, "app", two),
                             pod("db", KubeletTree::kDbUid, "postgres", two),
                             pod("log", KubeletTree::kLogUid, "agent",
                                 R"({"requests": {"cpu": "1500m"}})")));
    files_.write("large.json",
                 pod("large", "1f", "main", R"({"limits": {"cpu": "3", "memory": "1Gi"}})"));
    files_.write("new.json", pod("new", "2f", "main", R"({"requests": {"cpu": "1"}})"));
  }
  [[nodiscard]] Outcome explain(const std::string& arguments) const {
    return run_shell(
        fmt::format("cd '{}' && env -i LANG=C.UTF-8 '{}' explain --node-from-kubelet "
                    "--sysfs '{}' {}",
                    files_.path(), PINFOLD_COMMAND, tree_.path(), arguments));
  }

  KubeletTree tree_;
  test::TempDir files_;
};

TEST_F(ExplainKubelet, ReadsItsStateItsConfigurationAndItsNames) {
  const Outcome large = explain("large.json");
  EXPECT_EQ(large.status, 1) << large.err;
  EXPECT_THAT(large.out,
              AllOf(HasSubstr("Container main of shop/large needs 3 exclusive CPUs (it is "
                              "Guaranteed, with whole CPUs); the node has 2 free, 1 too few"),
                    HasSubstr("2 pods are known only from the kubelet's files"),
                    HasSubstr("shop/web/app 2"),
                    HasSubstr(std::string(KubeletTree::kDbUid) + "/postgres 2")));
  EXPECT_EQ(explain("new.json").status, 0) << "the requests of shop/log are unknown";
}

TEST_F(ExplainKubelet, CountsThePodsThatRun) {
  const Outcome rejected = explain("--running running.json new.json");
  EXPECT_EQ(rejected.status, 1) << rejected.err;
  EXPECT_THAT(rejected.out, AllOf(HasSubstr("OutOfcpu"), HasSubstr("used: 5500"),
                                  Not(HasSubstr("known only from the kubelet's files"))));
  EXPECT_EQ(explain("--running - new.json < running.json").out, rejected.out);
  const Outcome large = explain("--running running.json large.json");
  EXPECT_THAT(large.out, HasSubstr("shop/db/postgres 2")) << large.err;
  const Outcome web = explain("--running running.json --pod shop/web");
  EXPECT_EQ(web.status, 0) << web.err;
  EXPECT_THAT(web.out, HasSubstr("shop/web is active: container app has exclusive CPUs 2-3"));
}

TEST_F(ExplainKubelet, WarnsOfRunningPodsThatItCannotCount) {
  files_.write("huge.json", pod("huge", "3f", "main", R"({"requests": {"cpu": "64"}})"));
  const Outcome outcome = explain("--running huge.json new.json");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              HasSubstr("shop/huge of huge.json counts only with what the node's files "
                        "say it holds: OutOfcpu: "));
}

TEST_F(ExplainKubelet, SaysThatTheDevicesAreUnknown) {
  files_.write("gpu.json", pod("gpu", "4f", "main", R"({"limits": {"example.com/gpu": "1"}})"));
  EXPECT_THAT(explain("gpu.json").out,
              HasSubstr("shop/gpu: which devices this node offers is unknown; the decision ignores "
                        "'example.com/gpu'"));
}

TEST_F(ExplainKubelet, TheNodeIsNotNamedTwice) {
  const Outcome outcome = explain("--state-dir /var/lib/pinfold new.json");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("--node-from-kubelet"));
}

}  // namespace
}  // namespace pinfold
