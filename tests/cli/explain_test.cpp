#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "run_program.hpp"
#include "two_numa_nodes.hpp"

namespace pinfold {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_shell;
using testing::AllOf;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// A pod whose container has exclusive CPUs.
std::string pod(const std::string& name, int cpus) {
  return "kind: Pod\nmetadata: {name: " + name + ", namespace: shop}\n" +
         "spec: {containers: [{name: main, resources: {limits: {cpu: " + std::to_string(cpus) +
         ", memory: 1Gi}}}]}\n";
}

/// A node with two NUMA nodes of 8 CPUs, on which shop/db has 6.
class Explain : public test::TwoNumaNodes {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(TwoNumaNodes::SetUp());
    dir_.write("config.yaml",
               "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n"
               "topologyManagerPolicy: single-numa-node\nevictionHard: {}\n");
    std::filesystem::create_directory(dir_ / "state");
    dir_.write("db.yaml", pod("db", 6));
    dir_.write("web.yaml", pod("web", 12));
    dir_.write("both.yaml", pod("web", 12) + "---\n" + pod("small", 2));
    const Outcome db = on_node("admit --no-enforce", "db.yaml");
    ASSERT_EQ(db.status, 0) << db.err;
  }

  [[nodiscard]] std::string options() const {
    return " --state-dir " + (dir_ / "state") + " --config " + (dir_ / "config.yaml") +
           " --machine " + (dir_ / "machine.json") + " ";
  }
  [[nodiscard]] Outcome on_node(const std::string& command, const std::string& file) const {
    return run_shell("cd " + dir_.path() + " && " PINFOLD_COMMAND " " + command + options() + file);
  }
};

TEST_F(Explain, ARejectionHasStatus1AndChangesNothing) {
  const Outcome before = run_shell("cd " + (dir_ / "state") + " && cat cpu_manager_state; ls -lA");
  const Outcome rejected = on_node("explain", "web.yaml");
  EXPECT_EQ(rejected.status, 1) << rejected.err;
  EXPECT_EQ(rejected.err, "");
  EXPECT_THAT(rejected.out, HasSubstr("shop/db/main 6"));
  const Outcome after = run_shell("cd " + (dir_ / "state") + " && cat cpu_manager_state; ls -lA");
  EXPECT_EQ(after.out, before.out);
}

TEST_F(Explain, ANameIsNotReplacedByALongerText) {
  std::string four = pod("a", 1);
  for (const char* const name : {"b", "c", "d"}) four += "---\n" + pod(name, 1);
  dir_.write("four.yaml", four);
  ASSERT_EQ(on_node("admit --no-enforce", "four.yaml").status, 0);
  EXPECT_THAT(on_node("explain", "web.yaml").out,
              HasSubstr("shop/a/main 1, shop/b/main 1, shop/c/main 1, shop/d/main 1\n"));
}

TEST_F(Explain, WithoutOtherPodsNoneIsInTheWay) {
  ASSERT_EQ(on_node("remove --no-enforce --pod shop/db", "").status, 0);
  EXPECT_THAT(on_node("explain", "web.yaml").out,
              HasSubstr("No other pod is in the way: no NUMA node has more than 8 CPUs for pods"));
}

TEST_F(Explain, AnAdmissionHasStatus0) {
  dir_.write("small.yaml", pod("small", 2));
  const Outcome admitted = on_node("explain", "small.yaml");
  EXPECT_EQ(admitted.status, 0) << admitted.err;
  EXPECT_THAT(admitted.out,
              HasSubstr("shop/small is admitted: container main has exclusive CPUs "));
  EXPECT_THAT(admitted.out, HasSubstr("no CPU quota: its CPUs are exclusive"));
  EXPECT_THAT(admitted.out, HasSubstr("runner-up: "));
  EXPECT_THAT(admitted.out, HasSubstr("took CPUs "));
}

TEST_F(Explain, AResourceThatNothingOffersIsSaid) {
  dir_.write("gpu.yaml",
             "kind: Pod\nmetadata: {name: train, namespace: shop}\n"
             "spec: {containers: [{name: main, resources: {limits: {example.com/gpu: 1}}}]}\n");
  const Outcome explained = on_node("explain", "gpu.yaml");
  EXPECT_EQ(explained.status, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("shop/train: no device plugin on this machine offers "
                                       "'example.com/gpu'; the decision ignores it.\n"));
  const json answer = json::parse(on_node("explain -o json", "gpu.yaml").out);
  EXPECT_THAT(answer.at("pods").at(0).at("notes").dump(), HasSubstr("example.com/gpu"));
}

TEST_F(Explain, AnActivePodByName) {
  const Outcome active = on_node("explain --pod shop/db", "");
  EXPECT_EQ(active.status, 0) << active.err;
  EXPECT_THAT(active.out, HasSubstr("shop/db is active: container main has exclusive CPUs 2-7"));
  const Outcome unknown = on_node("explain --pod shop/nope", "");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("pod 'shop/nope'"));
}

TEST_F(Explain, OnlyOnePodOfTheFiles) {
  const Outcome both = on_node("explain", "both.yaml");
  EXPECT_EQ(both.status, 1);
  EXPECT_THAT(both.out, HasSubstr("shop/web"));
  EXPECT_THAT(both.out, AllOf(HasSubstr("shop/small is admitted"),
                              EndsWith("\n\n1 of 2 pods is admitted; shop/web is rejected.\n")));
  const Outcome one = on_node("explain --pod shop/small", "both.yaml");
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, Not(AnyOf(HasSubstr("shop/web"), HasSubstr(" of 1 pods"))));
  EXPECT_EQ(on_node("explain --pod nope", "both.yaml").status, 2);
}

TEST_F(Explain, ARemedyNamesLaterPodsOfTheCallThatItKeepsOut) {
  dir_.write("later.yaml", pod("web", 9) +
                               "---\nkind: Pod\nmetadata: {name: small, namespace: shop}\n"
                               "spec: {containers: [{name: main, resources: {requests: {cpu: "
                               "100m}}}]}\n");
  EXPECT_THAT(on_node("explain", "later.yaml").out,
              AllOf(HasSubstr("\n  with container main: cpu 9 -> 8 (requests and limits); "
                              "shop/small of the same call is then rejected (OutOfcpu)\n"),
                    HasSubstr("shop/small is admitted")));
}

TEST_F(Explain, APodOfTheCallIsLeftOutNotRemoved) {
  dir_.write("two.yaml", pod("one", 4) + "---\n" + pod("two", 7));
  EXPECT_THAT(on_node("explain", "two.yaml").out,
              ContainsRegex("\n  if shop/one \\([^)]*\\) is not admitted before it\n"));
}

TEST_F(Explain, NeedsAPod) {
  const Outcome none = on_node("explain", "");
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("expected a pod manifest, or --pod"));
}

TEST_F(Explain, InvalidPodsAreRefusedWithTheMessageOfTheApiServer) {
  dir_.write("invalid.yaml",
             "kind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, resources: "
             "{requests: {cpu: 2}, limits: {cpu: 1}}}]}\n");
  const Outcome invalid = on_node("explain", "invalid.yaml");
  EXPECT_EQ(invalid.status, 2);
  EXPECT_THAT(invalid.err, HasSubstr("must be less than or equal to cpu limit of 1"));
  EXPECT_EQ(on_node("explain --no-validation", "invalid.yaml").status, 0);
}

TEST_F(Explain, ThePictureHasTheSentencesOfTheText) {
  const Outcome text = on_node("explain --svg node.svg", "web.yaml");
  EXPECT_EQ(text.status, 1) << text.err;
  const std::string picture = run_shell("cat " + (dir_ / "node.svg")).out;
  for (const char* const sentence : {"It fits with", "Removing pods", "Other nodes:"}) {
    EXPECT_THAT(picture, HasSubstr(sentence));
  }
}

/// Returns the lines that are wider than 80 columns on a terminal of that width, except commands.
std::string wide_lines(const std::string& directory, const std::string& command) {
  const Outcome shown =
      run_shell("cd " + directory + " && LC_ALL=C NO_COLOR=1 script -qec 'stty cols 80; " +
                PINFOLD_COMMAND + " " + command + " 2>/dev/null' /dev/null | tr -d '\\r'");
  EXPECT_NE(shown.out, "") << shown.err;
  std::istringstream lines(shown.out);
  std::string wide;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    if (line.size() > 80 && line.compare(begin, 8, "pinfold ") != 0) wide += line + "\n";
  }
  return wide;
}

TEST_F(Explain, AReasonOfSeveralContainersIsPrintedOnceInEachPart) {
  dir_.write("shared.yaml",
             "kind: Pod\nmetadata: {name: shared, namespace: shop}\n"
             "spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}},\n"
             "  {name: log, resources: {requests: {cpu: 100m}}}]}\n");
  const Outcome explained = on_node("explain", "shared.yaml");
  EXPECT_EQ(explained.status, 0) << explained.err;
  EXPECT_THAT(explained.out,
              AllOf(HasSubstr("  log        host       as main"), HasSubstr("  log   as main\n")));
  const std::string reason = "its pod is Burstable";
  std::size_t count = 0;
  for (auto at = explained.out.find(reason); at != std::string::npos;
       at = explained.out.find(reason, at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 2U) << explained.out;
}

TEST_F(Explain, FitsATerminalOf80Columns) {
  dir_.write("small.yaml", pod("small", 2));
  dir_.write("other.yaml",
             "cpuManagerPolicy: static\nreservedSystemCPUs: 0-3\n"
             "topologyManagerPolicy: single-numa-node\nevictionHard: {}\n");
  for (const char* const file : {"web.yaml", "small.yaml", "--pod db"}) {
    EXPECT_EQ(wide_lines(dir_.path(), "explain" + options() + file), "") << file;
  }
  EXPECT_EQ(wide_lines(dir_.path(),
                       "reconfigure --dry-run --no-enforce --state-dir state --config other.yaml "
                       "--machine machine.json"),
            "");
}

TEST_F(Explain, HeldPodsHaveTheNamesOfTheirLogs) {
  dir_.write("old.yaml",
             "kind: Pod\nmetadata: {name: old, namespace: shop, uid: 0b7d0c9e}\n"
             "spec: {containers: [{name: main, resources: {limits: {cpu: 8, memory: 1Gi}}}]}\n");
  const Outcome old = on_node("admit --no-enforce", "old.yaml");
  ASSERT_EQ(old.status, 0) << old.err;
  const std::string there = "cd " + dir_.path() + " && ";
  ASSERT_EQ(run_shell(there + "mkdir kubelet logs logs/shop_old_0b7d0c9e && "
                              "cp state/*_manager_state kubelet")
                .status,
            0);
  const std::string of_kubelet =
      " --state-dir kubelet --config config.yaml --machine machine.json --pod-logs logs ";
  const Outcome status = run_shell(there + PINFOLD_COMMAND + " status --no-enforce" + of_kubelet);
  EXPECT_THAT(status.out, HasSubstr("  shop/old/main  CPUs 8-15, memory nodes any, UID 0b7d0c9e\n"))
      << status.err;
  EXPECT_THAT(status.out, HasSubstr("  shop_db/main  CPUs 2-7, memory nodes any\n"));
  const Outcome explained =
      run_shell(there + PINFOLD_COMMAND + " explain" + of_kubelet + "web.yaml");
  EXPECT_THAT(explained.out, HasSubstr("shop/old/main 8")) << explained.err;
}

TEST_F(Explain, Json) {
  const Outcome outcome = on_node("explain -o json", "web.yaml");
  EXPECT_EQ(outcome.status, 1);
  const json answer = json::parse(outcome.out);
  EXPECT_EQ(answer.at("profile"), "fixed");
  const json& explained = answer.at("pods").at(0);
  EXPECT_EQ(explained.at("admitted"), false);
  EXPECT_EQ(explained.at("rejection").at("reason"), "TopologyAffinityError");
  EXPECT_EQ(explained.at("resources").at(0).at("resource"), "cpu");
  EXPECT_EQ(explained.at("resources").at(0).at("neededAmount"), 12000);
  EXPECT_EQ(explained.at("resources").at(0).at("places").at(0).at("holders").at(0),
            (json{{"pod", {{"uid", "shop_db"}, {"namespace", "shop"}, {"name", "db"}}},
                  {"container", "main"},
                  {"amount", 6000},
                  {"numaNodes", json::array()},
                  {"earlier", false}}));
  EXPECT_THAT(explained.at("limit").get<std::string>(), HasSubstr("more than 8 CPUs for pods"));
  EXPECT_EQ(explained.at("remedies").at(0).at("kind"), "request");
  EXPECT_EQ(explained.at("remedies")
                .at(0)
                .at("manifest")
                .at("spec")
                .at("containers")
                .at(0)
                .at("resources")
                .at("limits")
                .at("cpu"),
            "8");
  dir_.write("small.yaml", pod("small", 2));
  const json admitted = json::parse(on_node("explain -o json", "small.yaml").out).at("pods").at(0);
  EXPECT_EQ(admitted.at("containers").at(0).at("isolation"), "container");
  EXPECT_FALSE(admitted.at("trace").empty());
}

TEST_F(Explain, ARejectionByAdmitNamesTheCommand) {
  for (const char* const admit : {"admit --no-enforce", "admit --no-enforce --dry-run"}) {
    const Outcome outcome = on_node(admit, "both.yaml");
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    const std::string marker = "What is missing, who holds it and what would help:\n  pinfold ";
    const auto begin = outcome.out.find(marker);
    ASSERT_NE(begin, std::string::npos) << outcome.out;
    const std::string command = outcome.out.substr(begin + marker.size());
    EXPECT_EQ(command, "explain" + options() + "--pod shop/web both.yaml\n");
    const Outcome explained = run_shell("cd " + dir_.path() + " && " PINFOLD_COMMAND " " + command);
    EXPECT_EQ(explained.status, 1) << explained.err;
    EXPECT_THAT(explained.out, HasSubstr("Container main of shop/web needs 12 CPUs"));
  }
  EXPECT_THAT(on_node("admit --no-enforce -o json", "both.yaml").out, Not(HasSubstr("What is")));
}

}  // namespace
}  // namespace pinfold
