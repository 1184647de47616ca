#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "pinfold/simulate/workload.hpp"
#include "run_program.hpp"
#include "temp_dir.hpp"

namespace pinfold {
namespace {

using nlohmann::json;
using test::Outcome;
using testing::HasSubstr;

constexpr const char* kStatic = "cpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n";

std::string pod_yaml(const std::string& name, int cpus) {
  return fmt::format(
      "kind: Pod\nmetadata: {{name: {}}}\nspec: {{containers: [{{name: main, resources: {{limits: "
      "{{cpu: {}, memory: 1Gi}}}}}}]}}\n",
      name, cpus);
}

class SimulatePods : public testing::Test {
 protected:
  SimulatePods() {
    dir_.write("a.yaml", kStatic);
    dir_.write("b.yaml",
               std::string(kStatic) + "cpuManagerPolicyOptions: {full-pcpus-only: 'true'}\n");
    dir_.write("pods.yaml", pod_yaml("odd", 3) + "---\n" + pod_yaml("big", 9));
  }
  /// Runs on two sockets of two cores each: 8 CPUs.
  Outcome run(const std::string& arguments) {
    return test::run_shell(fmt::format(
        "cd '{}' && env -i LANG=C.UTF-8 '{}' simulate --synthetic 'pack:2 [numa(memory=16GiB)] "
        "l3:1 core:2 pu:2' {}",
        dir_.path(), PINFOLD_COMMAND, arguments));
  }
  json run_json(const std::string& arguments) {
    return json::parse(run(arguments + " -o json").out);
  }

 private:
  test::TempDir dir_;
};

TEST_F(SimulatePods, PrintsPlacementsRejectionsAndWhatIsFree) {
  const Outcome outcome = run("--config a.yaml pods.yaml");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("default/odd  main"));
  EXPECT_THAT(outcome.out, HasSubstr("default/big: rejected, "));
  EXPECT_THAT(outcome.out, HasSubstr("1 pod admitted, 1 rejected (1 "));
  EXPECT_THAT(outcome.out, HasSubstr("Exclusive: 3 of 6 allocatable CPUs (50 %)"));
  EXPECT_THAT(outcome.out, HasSubstr("Free: 3 CPUs"));
}

TEST_F(SimulatePods, ComparesTwoConfigurations) {
  const Outcome text = run("--compare-config a.yaml b.yaml pods.yaml");
  EXPECT_EQ(text.status, 1) << text.err;
  EXPECT_THAT(text.out, HasSubstr("rejected: SMTAlignmentError"));
  EXPECT_THAT(text.out, HasSubstr("1 pod unchanged, 0 moved, 1 rejected only by b.yaml"));
  const json compared = run_json("--compare-config a.yaml b.yaml pods.yaml").at("compared");
  EXPECT_EQ(compared.at("pods"),
            json::parse(R"([{"uid": "default_odd", "namespace": "default", "name": "odd",
                                                  "change": "rejected"}])"));
  // A pod that both reject does not count against B.
  EXPECT_EQ(run("--compare-config a.yaml a.yaml pods.yaml").status, 0);
}

TEST_F(SimulatePods, TotalsAddUpForEveryMixAndSeed) {
  for (const simulate::Mix& mix : simulate::mixes()) {
    for (const int seed : {1, 2, 3}) {
      const std::string workload = fmt::format("{}:seed={},pods=60", mix.name, seed);
      const json out = run_json("--config a.yaml --workload " + workload);
      const json run = out.at("runs").at(0);
      EXPECT_TRUE(out.at("complete"));
      EXPECT_EQ(run.at("pods").size(), 60U) << workload;
      EXPECT_EQ(run.at("admittedCount").get<int>() + run.at("rejectedCount").get<int>(), 60)
          << workload;
      EXPECT_EQ(run.at("exclusiveCpuCount").get<int>() + run.at("freeCpuCount").get<int>(),
                run.at("allocatableCpuCount"))
          << workload;
      int exclusive = 0;
      int free = 0;
      for (const json& numa : run.at("numaNodes")) {
        exclusive += numa.at("exclusiveCpuCount").get<int>();
        free += numa.at("freeCpuCount").get<int>();
      }
      EXPECT_EQ(exclusive, run.at("exclusiveCpuCount")) << workload;
      EXPECT_EQ(free, run.at("freeCpuCount")) << workload;
      EXPECT_LE(run.at("exclusiveCpuCount"), run.at("peakExclusiveCpuCount")) << workload;
    }
  }
}

TEST_F(SimulatePods, AWorkloadIsTheSameEachTimeAndAnotherForAnotherSeed) {
  const std::string arguments = "--config a.yaml -o json --workload pinned:pods=50,seed=";
  EXPECT_EQ(run(arguments + "7").out, run(arguments + "7").out);
  EXPECT_NE(run(arguments + "7").out, run(arguments + "8").out);
}

TEST_F(SimulatePods, NamesWhatIsWrong) {
  EXPECT_EQ(run("--workload nothing").err,
            "pinfold: --workload: mix 'nothing': expected one of general, pinned, large\n");
  EXPECT_EQ(run("--workload large:pods=0").err,
            "pinfold: --workload: pods: '0': expected 1 to 1000000\n");
  EXPECT_EQ(run("--workload large:speed=2").err,
            "pinfold: --workload: 'speed': expected seed=N, pods=N or lifetime=PERCENT\n");
  EXPECT_EQ(run("--workload large:pods=5,seed=2,pods=6").err,
            "pinfold: --workload: 'pods' occurs twice: expected it once\n");
  EXPECT_EQ(run("").err,
            "pinfold: pods: expected exactly one of manifests, --workload and --state-dir\n");
  EXPECT_EQ(run("pods.yaml --compare-config a.yaml").err,
            "pinfold: --compare-config 'a.yaml': expected two configurations\n");
  EXPECT_EQ(run("pods.yaml pods.yaml").status, 2);
}

TEST(Workload, WithoutLifetimesNoPodGoes) {
  auto workload = simulate::parse_workload("pinned:seed=1,pods=200,lifetime=0").value();
  const auto staying = simulate::events_of(workload);
  EXPECT_EQ(staying.size(), 200U);
  workload.lifetime = 100;
  std::vector<simulate::PodEvent> arriving;
  for (const simulate::PodEvent& event : simulate::events_of(workload)) {
    if (std::holds_alternative<PodSpec>(event)) arriving.push_back(event);
  }
  EXPECT_EQ(arriving, staying);  // lifetimes do not change which pods arrive
}

}  // namespace
}  // namespace pinfold
