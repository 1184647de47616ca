#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "run_program.hpp"
#include "two_numa_nodes.hpp"

/// `pinfold explain` on a node some of whose CPUs are offline.
namespace pinfold {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_shell;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string pod(const std::string& name, const std::string& resources) {
  return "kind: Pod\nmetadata: {name: " + name + ", namespace: shop}\n" +
         "spec: {containers: [{name: main, resources: {" + resources + "}}]}\n";
}

/// A node with two NUMA nodes of 8 CPUs, on which shop/db has CPUs 2-7.
class ExplainOffline : public test::TwoNumaNodes {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(TwoNumaNodes::SetUp());
    dir_.write("config.yaml",
               "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\nevictionHard: {}\n");
    std::filesystem::create_directory(dir_ / "state");
    dir_.write("db.yaml", pod("db", "limits: {cpu: 6, memory: 1Gi}"));
    dir_.write("fits.yaml", pod("web", "limits: {cpu: 6, memory: 1Gi}"));
    dir_.write("large.yaml", pod("web", "limits: {cpu: 10, memory: 1Gi}"));
    dir_.write("shared.yaml", pod("web", "requests: {cpu: 9}"));
    const Outcome db = on_node("admit --no-enforce", "db.yaml");
    ASSERT_EQ(db.status, 0) << db.err;
  }
  void take_offline(int first, int last) {
    json less = machine_;
    less["cpus"] = json::array();
    for (const json& cpu : machine_.at("cpus")) {
      const int id = cpu.at("id").get<int>();
      if (id < first || id > last) less["cpus"].push_back(cpu);
    }
    dir_.write("machine.json", less.dump());
  }
  [[nodiscard]] Outcome on_node(const std::string& command, const std::string& file) const {
    return run_shell("cd " + dir_.path() + " && " PINFOLD_COMMAND " " + command +
                     " --state-dir state --config config.yaml --machine machine.json " + file);
  }
};

constexpr const char* kOffline =
    "CPUs 14-15 of this node are offline (no container has them): no container gets exclusive CPUs "
    "until they are back";
constexpr const char* kCommands =
    " ('chcpu --enable 14-15'; if they will not return: 'pinfold reconfigure')";

TEST_F(ExplainOffline, APodThatWouldFitWaitsForTheCpus) {
  take_offline(14, 15);
  const Outcome explained = on_node("explain", "fits.yaml");
  EXPECT_TRUE(explained.out.starts_with("shop/web needs exclusive CPUs, but " +
                                        std::string(kOffline) + ".\n"))
      << explained.out;
  EXPECT_THAT(
      explained.out,
      AllOf(HasSubstr("Once they are back: shop/web is admitted: container main has exclusive"),
            HasSubstr("If they will not return: 'pinfold reconfigure' takes them out"),
            HasSubstr("once CPUs 14-15 are online again: chcpu --enable 14-15\n"),
            Not(HasSubstr("Rejected, "))));
  const Outcome refused = on_node("admit --no-enforce --dry-run", "fits.yaml");
  EXPECT_THAT(refused.err, HasSubstr(std::string(kOffline) + kCommands));
  EXPECT_EQ(explained.status, 2) << explained.err;
  EXPECT_EQ(refused.status, explained.status);
}

TEST_F(ExplainOffline, NoRemedyIsNamedThatDoesNotHelpNow) {
  take_offline(14, 15);
  const Outcome explained = on_node("explain", "large.yaml");
  EXPECT_EQ(explained.status, 1) << explained.err;
  EXPECT_TRUE(explained.out.starts_with("shop/web needs exclusive CPUs, but " +
                                        std::string(kOffline) + kCommands))
      << explained.out;
  EXPECT_THAT(
      explained.out,
      AllOf(HasSubstr("Once they are back: Container main of shop/web needs 10 exclusive CPUs"),
            HasSubstr("once CPUs 14-15 are online, with container main: cpu 10 -> 8"),
            HasSubstr("once CPUs 14-15 are online, if shop/db"), Not(HasSubstr("\n  with ")),
            Not(HasSubstr("\n  if "))));
  dir_.write("eight.yaml", pod("web", "limits: {cpu: 8, memory: 1Gi}"));
  const Outcome smaller = on_node("admit --no-enforce --dry-run", "eight.yaml");
  EXPECT_EQ(smaller.status, 2) << "the smaller request would now be a remedy: " << smaller.out;
  dir_.write("machine.json", machine_.dump());
  EXPECT_EQ(on_node("admit --no-enforce --dry-run", "eight.yaml").status, 0);
}

TEST_F(ExplainOffline, OfflineCpusAreNotFree) {
  take_offline(14, 15);
  const json answer = json::parse(on_node("explain -o json", "large.yaml").out).at("pods").at(0);
  const json& places = answer.at("resources").at(0).at("places");
  EXPECT_EQ(places.at(1).at("freeAmount"), 6000);
  EXPECT_EQ(places.at(1).at("offlineAmount"), 2000);
  EXPECT_EQ(places.at(0).at("offlineAmount"), 0);
  EXPECT_EQ(answer.at("remedies").at(0).at("online"), "14-15");
  const json waiting = json::parse(on_node("explain -o json", "fits.yaml").out).at("pods").at(0);
  EXPECT_EQ(waiting.at("admitted"), false);
  EXPECT_EQ(waiting.at("remedies").at(0).at("kind"), "online");
}

TEST_F(ExplainOffline, TheirHolderIsNamed) {
  take_offline(4, 4);
  EXPECT_THAT(on_node("explain", "fits.yaml").out,
              HasSubstr("CPU 4 of this node is offline (shop/db/main has it)"));
}

TEST_F(ExplainOffline, APodWithoutExclusiveCpusIsDecidedAsAlways) {
  const Outcome before = on_node("explain", "shared.yaml");
  take_offline(14, 15);
  const Outcome explained = on_node("explain", "shared.yaml");
  EXPECT_EQ(explained.status, 1) << explained.err;
  EXPECT_EQ(explained.out, before.out);
  EXPECT_THAT(explained.out, HasSubstr("\n  with container main: cpu 9 -> 8"));
}

}  // namespace
}  // namespace pinfold
