#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "../../support/run_program.hpp"
#include "../../support/temp_dir.hpp"

/// `pinfold defragment`, as an operator runs it without a service.
namespace pinfold {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// Two NUMA nodes with 4 CPUs; CPU 0 is reserved. 'a' has CPU 1, 'c' has 4 and 5.
class DefragmentCli : public testing::Test {
 protected:
  DefragmentCli() {
    std::string cpus;
    for (int id = 0; id < 8; ++id) {
      const std::string numa = std::to_string(id / 4);
      cpus += (id == 0 ? "" : ",") + ("{\"id\":" + std::to_string(id)) +
              ",\"core\":" + std::to_string(id) + ",\"socket\":" + numa + ",\"numa\":" + numa +
              ",\"l3\":" + numa + "}";
    }
    put("node.json", "{\"name\":\"n\",\"cpus\":[" + cpus +
                         "],\"numaNodes\":[{\"id\":0,\"memory\":4294967296,\"hugepages\":{}},"
                         "{\"id\":1,\"memory\":4294967296,\"hugepages\":{}}],\"devices\":[]}");
    make_state(kConfig);
    put("a.yaml", pod("a", 1));
    put("b.yaml", pod("b", 2));
    put("c.yaml", pod("c", 2));
    put("new.yaml", pod("new", 3));
    EXPECT_EQ(run("admit a.yaml b.yaml c.yaml").status, 0);
    EXPECT_EQ(run("remove --pod default/b").status, 0);
    EXPECT_EQ(cpus_of("a"), "1");
    EXPECT_EQ(cpus_of("c"), "4-5");
  }
  static std::string pod(const std::string& name, int cpus) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           "}\nspec: {containers: [{name: main, resources: {limits: {cpu: " + std::to_string(cpus) +
           ", memory: 64Mi}}}]}\n";
  }
  void make_state(const std::string& config) const {
    std::filesystem::create_directory(dir_ / "state");
    std::filesystem::permissions(dir_ / "state", std::filesystem::perms::owner_all);
    put("state/config.yaml", config);
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name) << text;
  }
  [[nodiscard]] std::string get(const std::string& name) const {
    std::ifstream in(dir_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] test::Outcome shell(const std::string& command) const {
    return test::run_shell("cd " + dir_.path() + " && " + command);
  }
  [[nodiscard]] test::Outcome run(const std::string& arguments) const {
    return shell(PINFOLD_COMMAND + (" " + arguments) +
                 " --state-dir state --machine node.json --no-enforce");
  }
  [[nodiscard]] nlohmann::json run_json(const std::string& arguments) const {
    return nlohmann::json::parse(run(arguments + " -o json").out);
  }
  /// Returns the CPUs of a pod's container, as printed by `status`.
  [[nodiscard]] std::string cpus_of(const std::string& pod) const {
    const auto status = run_json("status");
    for (const auto& one : status.at("pods")) {
      if (one.at("name") == pod) return one.at("containers").at(0).at("cpus").get<std::string>();
    }
    return "none";
  }

  static constexpr const char* kConfig =
      "# by hand\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
      "topologyManagerPolicy: single-numa-node\n";
  const test::TempDir dir_;
};

TEST_F(DefragmentCli, ADryRunPrintsTheMovesAndStoresNothing) {
  const auto planned = run("defragment --for new.yaml --dry-run --picture");
  EXPECT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("default/new: rejected, TopologyAffinityError: "));
  EXPECT_THAT(planned.out, HasSubstr("default/a  main       moved   1 -> 6"));
  EXPECT_THAT(planned.out, HasSubstr("default/a/main  1 CPU  cpuset.cpus := "));
  EXPECT_THAT(planned.out, HasSubstr(", then cpuset.cpus := 6"));
  EXPECT_THAT(planned.out, HasSubstr("1 of 2 containers keeps its resources; 1 moves, 1 CPU; no "
                                     "plan costs less"));
  EXPECT_THAT(planned.out, HasSubstr("before\n"));
  EXPECT_THAT(planned.out, Not(HasSubstr("the node is the same")));
  EXPECT_THAT(planned.out,
              EndsWith("To admit default/new:\n  pinfold admit --state-dir state --machine "
                       "node.json --no-enforce new.yaml\n"));
  EXPECT_EQ(cpus_of("a"), "1");
}

TEST_F(DefragmentCli, MovesThenThePrintedCommandAdmitsThePod) {
  EXPECT_EQ(run("admit new.yaml").status, 1);
  const auto moved = run_json("defragment --for new.yaml");
  EXPECT_EQ(moved.at("applied"), true);
  const auto& room = moved.at("room");
  EXPECT_EQ(room.at("admitted"), false);
  EXPECT_EQ(room.at("possible"), true);
  EXPECT_EQ(room.at("rejection").at("reason"), "TopologyAffinityError");
  EXPECT_EQ(moved.at("plan").at("cost").at("movedContainerCount"), 1);
  EXPECT_EQ(moved.at("plan").at("containers").at(0).at("steps").back(), "cpuset.cpus := 6");
  EXPECT_TRUE(moved.at("measured").empty()) << "nothing is enforced";
  EXPECT_EQ(cpus_of("a"), "6");
  auto then = moved.at("then").get<std::string>();
  ASSERT_TRUE(then.starts_with("pinfold ")) << then;
  then.replace(0, std::string("pinfold").size(), PINFOLD_COMMAND);
  const auto admitted = shell(then);
  EXPECT_EQ(admitted.status, 0) << admitted.out << admitted.err;
  EXPECT_EQ(cpus_of("new"), "1-3");
}

TEST_F(DefragmentCli, TheWayBackLeavesTheConfigurationAsItIs) {
  ASSERT_EQ(run("defragment --for new.yaml").status, 0);
  const auto undone =
      shell(std::string(PINFOLD_COMMAND) + " reconfigure --undo --state-dir state --no-enforce");
  EXPECT_EQ(undone.status, 0) << undone.err;
  EXPECT_EQ(cpus_of("a"), "1");
  EXPECT_EQ(get("state/config.yaml"), kConfig);
}

TEST_F(DefragmentCli, SaysWhenNothingHasToMove) {
  put("new.yaml", pod("new", 2));
  const auto fits = run("defragment --for new.yaml");
  EXPECT_EQ(fits.status, 0) << fits.err;
  EXPECT_THAT(fits.out, HasSubstr("default/new: the node can admit it now"));
  EXPECT_EQ(run_json("defragment --for new.yaml").at("room").at("admitted"), true);
  const auto active = run("defragment --for a.yaml");
  EXPECT_EQ(active.status, 0) << active.err;
  EXPECT_THAT(active.out, HasSubstr("default/a: already active on this node"));
  EXPECT_EQ(run_json("defragment --for a.yaml").at("room").at("active"), true);
  EXPECT_EQ(cpus_of("a"), "1");
}

TEST_F(DefragmentCli, SaysWhatIsImpossible) {
  put("new.yaml", pod("new", 5));
  const auto never = run("defragment --for new.yaml");
  EXPECT_EQ(never.status, 1) << never.err;
  EXPECT_THAT(never.out, HasSubstr("No move of a container helps, TopologyAffinityError: "));
  EXPECT_THAT(never.out, HasSubstr("  pinfold explain --state-dir state --machine node.json "
                                   "new.yaml\n"));
  put("new.yaml", pod("new", 4));
  put("more.yaml", pod("more", 1));
  ASSERT_EQ(run("admit more.yaml").status, 0);
  const auto full = run("defragment --for new.yaml");
  EXPECT_EQ(full.status, 1) << full.err;
  EXPECT_THAT(full.out, HasSubstr("OutOfcpu"));
  const auto json = run_json("defragment --for new.yaml");
  EXPECT_EQ(json.at("room").at("possible"), false);
  EXPECT_EQ(json.at("applied"), false);
  EXPECT_TRUE(json.at("then").is_null());
}

/// Each NUMA node has three CPUs for pods and a pod with two of them, so neither has two free.
TEST_F(DefragmentCli, SaysWhetherTheSearchHasTriedEverything) {
  std::filesystem::remove_all(dir_ / "state");
  make_state(
      "cpuManagerPolicy: static\nreservedSystemCPUs: 0,4\n"
      "topologyManagerPolicy: single-numa-node\n");
  put("new.yaml", pod("new", 2));
  ASSERT_EQ(run("admit b.yaml c.yaml").status, 0);
  const auto all = run("defragment --for new.yaml");
  EXPECT_EQ(all.status, 1) << all.err;
  EXPECT_THAT(all.out, HasSubstr("No moves of containers make room for it: the search tried all "
                                 "of them\n"));
  EXPECT_EQ(run_json("defragment --for new.yaml").at("plan").at("optimal"), true);
  const auto some = run("defragment --for new.yaml --steps 1");
  EXPECT_EQ(some.status, 1) << some.err;
  EXPECT_THAT(some.out, HasSubstr("No plan found in 1 step: one may exist"));
}

TEST_F(DefragmentCli, WantsOnePod) {
  put("two.yaml", pod("x", 1) + "---\n" + pod("y", 1));
  const auto two = run("defragment --for two.yaml");
  EXPECT_EQ(two.status, 2);
  EXPECT_THAT(two.err, HasSubstr("--for 'two.yaml': expected one pod, found 2"));
  EXPECT_EQ(run("defragment").status, 2);
  EXPECT_EQ(run("defragment --for new.yaml --steps 0").status, 2);
}

TEST_F(DefragmentCli, ExplainSuggestsIt) {
  const auto explained = run("explain new.yaml");
  EXPECT_EQ(explained.status, 2) << "explain enforces nothing, so it has no such option";
  const auto rejected = shell(std::string(PINFOLD_COMMAND) +
                              " explain --state-dir state --machine node.json new.yaml");
  EXPECT_EQ(rejected.status, 1) << rejected.err;
  EXPECT_THAT(rejected.out,
              HasSubstr("if default/a/main (CPU 1 -> 6) is moved: pinfold defragment --for "
                        "new.yaml --state-dir state --machine node.json --no-enforce\n"));
}

}  // namespace
}  // namespace pinfold
