#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "../../support/run_program.hpp"
#include "../../support/temp_dir.hpp"

/// `pinfold reconfigure`, as an operator runs it without a service.
namespace pinfold {
namespace {

using testing::HasSubstr;
using testing::Not;

class ReconfigureCli : public testing::Test {
 protected:
  ReconfigureCli() {
    std::string cpus;
    for (int id = 0; id < 8; ++id) {
      cpus += (id == 0 ? "" : ",") + ("{\"id\":" + std::to_string(id)) +
              ",\"core\":" + std::to_string(id / 2) + ",\"socket\":0,\"numa\":0,\"l3\":0}";
    }
    put("node.json", "{\"name\":\"n\",\"cpus\":[" + cpus +
                         "],\"numaNodes\":[{\"id\":0,\"memory\":4294967296,\"hugepages\":{}}],"
                         "\"devices\":[]}");
    std::filesystem::create_directory(dir_ / "state");
    std::filesystem::permissions(dir_ / "state", std::filesystem::perms::owner_all);
    put("state/config.yaml", kOld);
    put("new.yaml", kNew);
    put("three.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: '0-6'\n");
    put("web.yaml", pod("web", 2));
    put("db.yaml", pod("db", 1));
    EXPECT_EQ(run("admit db.yaml web.yaml " + machine_).status, 0);
  }
  static std::string pod(const std::string& name, int cpus) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           "}\nspec: {containers: [{name: main, resources: {limits: {cpu: " + std::to_string(cpus) +
           ", memory: 64Mi}}}]}\n";
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name) << text;
  }
  [[nodiscard]] std::string get(const std::string& name) const {
    std::ifstream in(dir_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] test::Outcome run(const std::string& arguments) const {
    return test::run_shell("cd " + dir_.path() + " && " + PINFOLD_COMMAND + " " + arguments +
                           " --state-dir state --no-enforce");
  }
  /// Returns the CPUs of a pod's container, as printed by `status`.
  [[nodiscard]] std::string cpus(const std::string& pod) const {
    const auto status = nlohmann::json::parse(run("status -o json " + machine_).out);
    for (const auto& one : status.at("pods")) {
      if (one.at("name") == pod) return one.at("containers").at(0).at("cpus").get<std::string>();
    }
    return "none";
  }

  static constexpr const char* kOld =
      "# by hand\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  static constexpr const char* kNew = "cpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n";
  const std::string machine_ = "--machine node.json";
  const test::TempDir dir_;
};

TEST_F(ReconfigureCli, ADryRunPrintsThePlanAndStoresNothing) {
  const auto planned = run("reconfigure --config new.yaml --dry-run --picture " + machine_);
  EXPECT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("reservedSystemCPUs: '0' becomes '0-1'"));
  EXPECT_THAT(planned.out, HasSubstr("default/db  main       moved   1 -> "));
  EXPECT_THAT(planned.out, Not(HasSubstr("default/web  main")));
  EXPECT_THAT(planned.out, HasSubstr("1 of 2 containers keeps its resources; 1 moves, 1 CPU; no "
                                     "plan costs less"));
  EXPECT_THAT(planned.out, HasSubstr("default/db/main runs on shared CPUs for a moment"));
  EXPECT_THAT(planned.out, HasSubstr("--no-enforce: Pinfold does not perform these steps"));
  EXPECT_THAT(planned.out, HasSubstr("before\n"));
  EXPECT_EQ(cpus("db"), "1");
  EXPECT_EQ(get("state/config.yaml"), kOld);
}

TEST_F(ReconfigureCli, AppliesAndGoesBack) {
  const auto done = run("reconfigure --config new.yaml -o json " + machine_);
  ASSERT_EQ(done.status, 0) << done.err;
  const auto json = nlohmann::json::parse(done.out);
  EXPECT_EQ(json.at("applied"), true);
  const auto& plan = json.at("plan");
  EXPECT_EQ(plan.at("cost").at("movedContainerCount"), 1);
  EXPECT_EQ(plan.at("containers").at(0).at("cpusBefore"), "1");
  EXPECT_EQ(plan.at("containers").at(0).at("parked"), true);
  EXPECT_EQ(cpus("db"), plan.at("containers").at(0).at("cpusAfter"));
  EXPECT_EQ(cpus("web"), "2-3");
  EXPECT_EQ(get("state/config.yaml"), kNew);
  EXPECT_EQ(get("state/config.yaml.before"), kOld);
  const auto same = run("reconfigure --dry-run " + machine_);
  EXPECT_THAT(same.out, HasSubstr("the node is the same"));

  const auto undone = run("reconfigure --undo");
  ASSERT_EQ(undone.status, 0) << undone.err;
  EXPECT_EQ(cpus("db"), "1");
  EXPECT_EQ(get("state/config.yaml"), kOld);
}

/// A resize never takes the CPUs of the admission, even after a reconfiguration that is undone.
TEST_F(ReconfigureCli, GivesBackTheCpusOfTheAdmission) {
  ASSERT_EQ(run("remove --pod default/web " + machine_).status, 0);
  ASSERT_EQ(cpus("db"), "1");
  ASSERT_EQ(run("resize default/db --cpu 3 " + machine_).status, 0);
  const std::string grown = cpus("db");
  put("moved.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n");
  ASSERT_EQ(run("reconfigure --config moved.yaml " + machine_).status, 0);
  ASSERT_NE(cpus("db"), grown);
  const auto undone = run("reconfigure --undo");
  ASSERT_EQ(undone.status, 0) << undone.err;
  ASSERT_EQ(cpus("db"), grown);
  ASSERT_EQ(run("resize default/db --cpu 1 " + machine_).status, 0);
  EXPECT_EQ(cpus("db"), "1");
}

TEST_F(ReconfigureCli, AfterAnAdmissionThereIsNoWayBack) {
  ASSERT_EQ(run("reconfigure --config new.yaml " + machine_).status, 0);
  put("late.yaml", pod("late", 1));
  ASSERT_EQ(run("admit late.yaml " + machine_).status, 0);
  const auto undone = run("reconfigure --undo");
  EXPECT_EQ(undone.status, 2);
  EXPECT_THAT(undone.err, HasSubstr("pod 'default/late' was admitted after the reconfiguration"));
}

TEST_F(ReconfigureCli, PodsThatCannotStayNeedConsent) {
  const auto planned = run("reconfigure --dry-run --config three.yaml " + machine_);
  EXPECT_EQ(planned.status, 1) << "as the command itself";
  EXPECT_THAT(planned.err, HasSubstr("Remove them with --evict lost"));
  EXPECT_EQ(run("reconfigure --dry-run --config three.yaml --evict lost " + machine_).status, 0);
  const auto refused = run("reconfigure --config three.yaml " + machine_);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("pods that no longer fit: default_web; nothing has changed"));
  EXPECT_EQ(cpus("web"), "2-3");
  EXPECT_EQ(get("state/config.yaml"), kOld);
  ASSERT_EQ(run("reconfigure --config three.yaml --evict lost " + machine_).status, 0);
  EXPECT_EQ(cpus("web"), "none");
  EXPECT_EQ(cpus("db"), "7");
}

TEST_F(ReconfigureCli, AConfigurationThatNoKubeletStartsWithChangesNothing) {
  put("bad.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: ''\n");
  const auto refused = run("reconfigure --config bad.yaml " + machine_);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("start: cpumanager"));
  EXPECT_EQ(get("state/config.yaml"), kOld);
}

/// A flag of the kubelet may set a policy that its file leaves out, so no file without it gives up
/// exclusive CPUs.
TEST_F(ReconfigureCli, RefusesToChangeAPolicyThatTheFileDoesNotName) {
  put("part.yaml", "kind: KubeletConfiguration\nmaxPods: 100\n");
  const std::string before = cpus("web");
  const auto refused = run("reconfigure --config part.yaml " + machine_);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("has no cpuManagerPolicy"));
  EXPECT_THAT(refused.err, HasSubstr("'cpuManagerPolicy: none'"));
  EXPECT_EQ(cpus("web"), before);
  put("foreign.yaml", "authentication: {strategy: x509}\nservices: {etcd: {}}\nnodes: []\n");
  EXPECT_THAT(run("reconfigure --config foreign.yaml " + machine_).err,
              HasSubstr("not a KubeletConfiguration"));
}

/// A container that has both can lose one of them.
TEST_F(ReconfigureCli, SaysWhatAContainerLoses) {
  const std::string with_memory = std::string(kOld) +
                                  "memoryManagerPolicy: Static\nsystemReserved: {memory: 64Mi}\n"
                                  "evictionHard: {memory.available: 64Mi}\n"
                                  "reservedMemory: [{numaNode: 0, limits: {memory: 128Mi}}]\n";
  put("memory.yaml", with_memory);
  put("none.yaml", "cpuManagerPolicy: none\nmemoryManagerPolicy: None\n");
  ASSERT_EQ(run("reconfigure --config memory.yaml " + machine_).status, 0);
  put("without.yaml", std::string(kNew) + "memoryManagerPolicy: None\n");
  EXPECT_THAT(run("reconfigure --dry-run --config without.yaml " + machine_).out,
              HasSubstr("the rules no longer give it NUMA nodes"));
  put("old.yaml", std::string(kOld) + "memoryManagerPolicy: None\n");
  EXPECT_THAT(run("reconfigure --dry-run --config old.yaml " + machine_).out,
              HasSubstr("the rules no longer give it NUMA nodes; its CPUs stay exclusive"));
  EXPECT_THAT(run("reconfigure --dry-run --config none.yaml " + machine_).out,
              HasSubstr("the rules no longer give it exclusive resources"));
}

/// Another program reads the lines: `status | grep POD`.
TEST_F(ReconfigureCli, StatusInAPipeKeepsRowsInOneLine) {
  const std::string name = "a-rather-long-name-of-a-pod-that-would-not-fit-into-one-line";
  put("long.yaml", "kind: Pod\nmetadata: {name: " + name +
                       "}\nspec: {containers: [{name: and-a-rather-long-name-of-a-container}]}\n");
  ASSERT_EQ(run("admit long.yaml " + machine_).status, 0);
  EXPECT_THAT(run("status " + machine_).out,
              HasSubstr("default/" + name + "  and-a-rather-long-name-of-a-container"));
}

/// A directory that only a kubelet has written.
TEST_F(ReconfigureCli, NeedsTheConfigurationOfAKubeletsDirectory) {
  std::filesystem::remove(dir_ / "state/.pinfold_node");
  const auto unknown = run("reconfigure --config new.yaml " + machine_);
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("name that configuration with --from"));
  put("old.yaml", kOld);
  const auto done = run("reconfigure --from old.yaml --config new.yaml " + machine_);
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(cpus("web"), "2-3");
}

/// Only the state files show that kubelet 1.37 wrote them; the new files are for 1.37 again.
TEST_F(ReconfigureCli, FollowsTheKubeletThatWroteTheFiles) {
  put("late.yaml", "pinfold: {profile: kubelet-1.37}\n" + std::string(kOld));
  ASSERT_EQ(run("reconfigure --config late.yaml " + machine_).status, 0);
  for (const char* const own : {".pinfold_node", ".pinfold_pods", "config.yaml"}) {
    std::filesystem::remove(dir_ / (std::string("state/") + own));
  }
  ASSERT_THAT(get("state/cpu_manager_state"), HasSubstr("dataChecksum"));
  put("old.yaml", kOld);
  const auto done = run("reconfigure --from old.yaml --config new.yaml -o json " + machine_);
  ASSERT_EQ(done.status, 1) << "a held pod has CPU 1: " << done.out << done.err;
  EXPECT_THAT(done.err, HasSubstr("pods that no longer fit: default_db"));
  const auto evicted =
      run("reconfigure --from old.yaml --config new.yaml --evict lost -o json " + machine_);
  ASSERT_EQ(evicted.status, 0) << evicted.err;
  EXPECT_THAT(get("state/cpu_manager_state"), HasSubstr("dataChecksum"));
  EXPECT_THAT(get("state/memory_manager_state"), HasSubstr("dataChecksum"));
  EXPECT_THAT(run("status " + machine_ + " --config new.yaml").out,
              HasSubstr("profile kubelet-1.37"));
}

/// A machine that has lost a CPU since the kubelet wrote its files.
TEST_F(ReconfigureCli, NeedsTheMachineOfAKubeletsDirectory) {
  std::filesystem::remove(dir_ / "state/.pinfold_node");
  auto machine = nlohmann::json::parse(get("node.json"));
  machine.at("cpus").erase(7);
  put("smaller.json", machine.dump());
  put("old.yaml", kOld);
  const std::string arguments = "reconfigure --from old.yaml --machine smaller.json";
  const auto refused = run(arguments);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("name the previous one with --from-machine"));
  const auto done = run(arguments + " --from-machine node.json");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("machine: CPU 7 no longer exists"));
}

/// A kubelet started with another configuration does not know .pinfold_node.
TEST_F(ReconfigureCli, SaysThatAKubeletMayHaveChangedTheConfiguration) {
  put("state/cpu_manager_state",
      R"({"policyName":"none","defaultCpuSet":"","checksum":642675224})");
  const auto refused = run("reconfigure --config new.yaml " + machine_);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(
      refused.err,
      HasSubstr("if a kubelet has run with another configuration since, name it with --from"));
}

TEST_F(ReconfigureCli, AStartWithAnotherConfigurationSaysWhatToDo) {
  put("state/config.yaml", kNew);
  const auto refused = run("status " + machine_);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("the state is for another configuration of this node "
                                     "(reservedSystemCPUs: '0' becomes '0-1'): 'pinfold "
                                     "reconfigure --state-dir "));
  EXPECT_THAT(refused.err, HasSubstr("this configuration reserves CPU 1 (default/db/"));
}

TEST_F(ReconfigureCli, ARepetitionKeepsTheWayBack) {
  ASSERT_EQ(run("reconfigure --config new.yaml " + machine_).status, 0);
  ASSERT_EQ(run("reconfigure --config new.yaml " + machine_).status, 0);
  const auto undone = run("reconfigure --undo");
  ASSERT_EQ(undone.status, 0) << undone.err;
  EXPECT_EQ(cpus("db"), "1");
  EXPECT_EQ(get("state/config.yaml"), kOld);
}

TEST_F(ReconfigureCli, UndoTakesBackWhatWasInterrupted) {
  ASSERT_EQ(run("reconfigure --config new.yaml " + machine_).status, 0);
  const std::string on_two = cpus("db");
  put("three-reserved.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: '0-1,4'\n");
  put("state/config.yaml.before", kNew);
  put("state/config.yaml", get("three-reserved.yaml"));
  const auto planned = run("reconfigure --undo --dry-run");
  EXPECT_THAT(planned.out, HasSubstr("config.yaml: becomes what it was before an interrupted "
                                     "reconfiguration"));
  EXPECT_EQ(get("state/config.yaml"), get("three-reserved.yaml"));
  ASSERT_EQ(run("reconfigure --undo").status, 0);
  EXPECT_EQ(get("state/config.yaml"), kNew);
  EXPECT_EQ(cpus("db"), on_two);
  ASSERT_EQ(run("reconfigure --undo").status, 0)
      << "the way back from the one before is still there";
  EXPECT_EQ(cpus("db"), "1");
}

/// The state left by a process killed between the new configuration and the commit.
TEST_F(ReconfigureCli, GoesOnAfterAnInterruption) {
  put("state/config.yaml", kNew);
  const auto done = run("reconfigure " + machine_);
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("reservedSystemCPUs: '0' becomes '0-1'"));
  EXPECT_NE(cpus("db"), "1");
}

}  // namespace
}  // namespace pinfold
