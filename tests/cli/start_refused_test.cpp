#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "run_program.hpp"
#include "two_numa_nodes.hpp"

/// The program's messages about a state that does not start with a configuration or on a machine.
namespace pinfold {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_shell;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string config(const std::string& reserved, const std::string& memory) {
  return "cpuManagerPolicy: static\nreservedSystemCPUs: " + reserved +
         "\nmemoryManagerPolicy: Static\nkubeReserved: {memory: " + memory +
         "}\nevictionHard: {}\nreservedMemory: [{numaNode: 0, limits: {memory: " + memory + "}}]\n";
}

/// Two NUMA nodes of 8 CPUs. shop/db has CPUs 2-7; `state` is Pinfold's directory, `kubelet` one
/// with the kubelet's files alone.
class StartRefused : public test::TwoNumaNodes {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(TwoNumaNodes::SetUp());
    dir_.write("config.yaml", config("0-1", "1Gi"));
    dir_.write("db.yaml",
               "kind: Pod\nmetadata: {name: db, namespace: shop, uid: 0b7d0c9e}\n"
               "spec: {containers: [{name: main, resources: {limits: {cpu: 6, memory: 1Gi}}}]}\n");
    dir_.write("web.yaml",
               "kind: Pod\nmetadata: {name: web, namespace: shop}\n"
               "spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}}]}\n");
    const Outcome made =
        in_dir("mkdir -m 700 state kubelet && mkdir -p logs/shop_db_0b7d0c9e && " PINFOLD_COMMAND
               " admit --no-enforce --state-dir state --config config.yaml --machine machine.json "
               "db.yaml && cp state/*_manager_state kubelet");
    ASSERT_EQ(made.status, 0) << made.err;
  }
  void put_machine(const json& machine) const { dir_.write("machine.json", machine.dump()); }
  [[nodiscard]] Outcome in_dir(const std::string& command) const {
    return run_shell("cd '" + dir_.path() + "' && " + command);
  }
  [[nodiscard]] Outcome explain(const std::string& state, const std::string& config_file) const {
    return in_dir(PINFOLD_COMMAND " explain --state-dir " + state + " --config " + config_file +
                  " --machine machine.json --pod-logs logs web.yaml");
  }
  /// Runs the command that a refusal names as it is printed, and starts again.
  void expect_that_the_repair_works(const Outcome& refused) const {
    const auto begin = refused.err.find("'pinfold checkpoint repair ");
    ASSERT_NE(begin, std::string::npos) << refused.err;
    const auto first = begin + std::string("'pinfold ").size();
    const std::string command = refused.err.substr(first, refused.err.find('\'', first) - first);
    const Outcome repaired = in_dir(PINFOLD_COMMAND " " + command);
    EXPECT_EQ(repaired.status, 0) << command << "\n" << repaired.out << repaired.err;
    const Outcome again = explain("kubelet", "config.yaml");
    EXPECT_EQ(again.status, 0) << again.out << again.err;
  }
  /// CPU 4 is offline.
  [[nodiscard]] json smaller_machine() const {
    json smaller = machine_;
    smaller.at("cpus").erase(4);
    return smaller;
  }
};

TEST_F(StartRefused, ReservedCpusThatAContainerHas) {
  dir_.write("new.yaml", config("0-3", "1Gi"));
  const Outcome refused = explain("kubelet", "new.yaml");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("not all reserved cpus"),
                    HasSubstr("; this configuration reserves CPUs 2-3 (shop/db/main has them): "
                              "write reservedSystemCPUs: 0-1,8-9, which are free, or return to the "
                              "earlier configuration, remove the pods that have CPUs 2-3, and then "
                              "change it; repairing the files would release such assignments\n"),
                    Not(HasSubstr("checkpoint repair"))));
  dir_.write("advised.yaml", config("0-1,8-9", "1Gi"));
  EXPECT_EQ(explain("kubelet", "advised.yaml").status, 0);
  const Outcome repair = in_dir(PINFOLD_COMMAND
                                " checkpoint repair --config new.yaml --machine machine.json "
                                "kubelet");
  EXPECT_EQ(repair.status, 1) << "a repair now keeps everything: " << repair.out;
}

TEST_F(StartRefused, FitsATerminalOf80Columns) {
  dir_.write("new.yaml", config("0-3", "1Gi"));
  const Outcome shown = in_dir(
      "LC_ALL=C script -qec 'stty cols 80; " PINFOLD_COMMAND
      " explain --state-dir kubelet --config new.yaml --machine machine.json --pod-logs logs "
      "web.yaml' /dev/null | tr -d '\r'");
  EXPECT_THAT(shown.out, HasSubstr("pinfold: start: cpumanager: ")) << shown.err;
  std::istringstream lines(shown.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(StartRefused, APinfoldDirectoryCanBeAdaptedByTheCommandAsItIsPrinted) {
  dir_.write("new.yaml", config("0-3", "1Gi"));
  const Outcome refused = explain("state", "new.yaml");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("(shop/db/main has them)"),
                    HasSubstr("; the state is for another configuration of this node "
                              "(reservedSystemCPUs: '0-1' becomes '0-3'): 'pinfold reconfigure "
                              "--state-dir state --config new.yaml --machine machine.json "
                              "--pod-logs logs --no-enforce' adapts it to this one")));
  const auto begin = refused.err.find("'pinfold reconfigure ") + std::string("'pinfold ").size();
  const std::string command = refused.err.substr(begin, refused.err.find('\'', begin) - begin);
  const Outcome adapted = in_dir(PINFOLD_COMMAND " " + command);
  EXPECT_EQ(adapted.status, 0) << adapted.err;
  EXPECT_EQ(explain("state", "new.yaml").status, 0);
}

TEST_F(StartRefused, AForgottenConfigurationIsAskedFor) {
  const Outcome refused =
      in_dir(PINFOLD_COMMAND " explain --state-dir state --machine machine.json web.yaml");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("cpuManagerPolicy: 'static' becomes 'none'"),
                                 HasSubstr("): no configuration is given, so the kubelet's "
                                           "defaults apply: name the configuration of the state "
                                           "with --config, for example 'state/config.yaml'\n"),
                                 Not(HasSubstr("reconfigure"))));
}

TEST_F(StartRefused, OfflineCpusOfAContainer) {
  put_machine(smaller_machine());
  for (const char* const profile : {"", " --profile kubelet-1.36"}) {
    const Outcome refused = in_dir(PINFOLD_COMMAND
                                   " explain --state-dir kubelet --config config.yaml --machine "
                                   "machine.json --pod-logs logs web.yaml" +
                                   std::string(profile));
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(
        refused.err,
        AllOf(
            HasSubstr(
                "; CPU 4 of the state is offline or no longer exists (shop/db/main has it): if "
                "offline, 'chcpu "
                "--enable 4' brings it back; repairing the files would release such assignments\n"),
            Not(HasSubstr("checkpoint repair"))));
  }
}

TEST_F(StartRefused, ReservedCpusAreReplacedOnTheirNumaNode) {
  dir_.write("mq.yaml",
             "kind: Pod\nmetadata: {name: mq, namespace: shop, uid: 7a0b51c0}\n"
             "spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}}]}\n");
  const Outcome made =
      in_dir(PINFOLD_COMMAND
             " admit --no-enforce --state-dir state --config config.yaml --machine machine.json "
             "mq.yaml && cp state/*_manager_state kubelet");
  ASSERT_EQ(made.status, 0) << made.err;
  dir_.write("new.yaml", config("0,8", "1Gi"));
  EXPECT_THAT(explain("kubelet", "new.yaml").err,
              HasSubstr("reserves CPU 8 (7a0b51c0/main has it): write reservedSystemCPUs: 0,10, "
                        "which are free, or return to the earlier configuration, remove the pods "
                        "that have CPU 8, and then change it;"));
  dir_.write("advised.yaml", config("0,10", "1Gi"));
  const Outcome advised = explain("kubelet", "advised.yaml");
  EXPECT_EQ(advised.status, 0) << advised.err;
}

/// CPUs are missing, and there is less memory, too.
TEST_F(StartRefused, FilesOfAnotherMachine) {
  json other = machine_;
  auto& cpus = other.at("cpus");
  cpus.erase(cpus.begin() + 12, cpus.end());
  for (json& numa : other.at("numaNodes")) numa.at("memory") = std::uint64_t{12} << 30U;
  put_machine(other);
  const Outcome refused = explain("kubelet", "config.yaml");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(
      refused.err,
      AllOf(HasSubstr(
                "; CPUs 12-15 of the state are offline or no longer exist (no container has them), "
                "and the "
                "memory differs, too: the files seem to come from another machine. If their pods "
                "do not run here, delete cpu_manager_state and memory_manager_state; "),
            HasSubstr("; start: memorymanager: "),
            HasSubstr("NUMA node 0 has 12Gi of memory, in the state 16Gi"),
            HasSubstr("repairs the files without loss\n"), Not(HasSubstr("chcpu"))));
  expect_that_the_repair_works(refused);
}

TEST_F(StartRefused, ATornFileNamesTheRepairThatWorksAndItsLoss) {
  const Outcome torn = in_dir(
      "head -c 60 kubelet/memory_manager_state > torn && cp torn kubelet/memory_manager_state");
  ASSERT_EQ(torn.status, 0) << torn.err;
  const Outcome refused = explain("kubelet", "config.yaml");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(
      refused.err,
      AllOf(HasSubstr(
                "; 'cpu_manager_state' is sound; 'pinfold checkpoint repair --accept-loss --config "
                "config.yaml --machine machine.json kubelet' repairs the files, but loses: "),
            HasSubstr("0b7d0c9e/main: any memory that it had: its entry is unreadable")));
  expect_that_the_repair_works(refused);
}

/// Both files have other policies. A kubelet would report only one at a time.
TEST_F(StartRefused, FilesOfOtherPoliciesWithoutAssignments) {
  dir_.write("none.yaml", "cpuManagerPolicy: none\n");
  const Outcome made =
      in_dir("rm kubelet/* && mkdir -m 700 none && " PINFOLD_COMMAND
             " admit --no-enforce --state-dir none --config none.yaml --machine machine.json "
             "db.yaml && cp none/*_manager_state kubelet");
  ASSERT_EQ(made.status, 0) << made.err;
  const Outcome refused = explain("kubelet", "config.yaml");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("start: cpumanager: "), HasSubstr("; start: memorymanager: "),
                    HasSubstr("so deleting them loses nothing; the state belongs to another "
                              "configuration: name that one with --config, or use this one: "
                              "'pinfold checkpoint repair --config"),
                    Not(HasSubstr("pinfold reconfigure"))));
  expect_that_the_repair_works(refused);
}

TEST_F(StartRefused, MemoryThatHasChanged) {
  json drifted = machine_;
  drifted.at("numaNodes").at(1).at("memory") = (std::uint64_t{16} << 30U) - (4U << 20U);
  put_machine(drifted);
  const Outcome refused = explain("kubelet", "config.yaml");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("; NUMA node 1 has 16380Mi of memory, in the state 16Gi; 'pinfold "
                              "checkpoint repair"),
                    HasSubstr("the expected machine state is different from the real one")));
}

TEST_F(StartRefused, MemoryThatIsReservedOtherwise) {
  dir_.write("new.yaml", config("0-1", "1536Mi"));
  EXPECT_THAT(explain("kubelet", "new.yaml").err,
              HasSubstr("; 1536Mi of memory are reserved for the system on NUMA node 0, in the "
                        "state 1Gi; 'pinfold checkpoint repair"));
  const Outcome repair = in_dir(PINFOLD_COMMAND
                                " checkpoint repair --config new.yaml --machine machine.json "
                                "kubelet");
  EXPECT_EQ(repair.status, 0) << repair.out << repair.err;
  EXPECT_EQ(explain("kubelet", "new.yaml").status, 0);
}

}  // namespace
}  // namespace pinfold
