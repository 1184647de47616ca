#include <gtest/gtest.h>

#include "../../support/cpu_fixture.hpp"

namespace pinfold::test {
namespace {

std::string make_error(const Machine& machine, const Config& config) {
  const auto manager = CpuManager::make(machine, config, reserve_count(1000));
  return manager ? "" : manager.error().message;
}

struct ErrorCase {
  const char* name;
  Options options;
  std::map<std::string, bool> gates;
  std::string error;
};

class CpuOptions : public testing::TestWithParam<ErrorCase> {};

TEST_P(CpuOptions, GiveTheKubeletsError) {
  Config config = static_policy(GetParam().options);
  config.feature_gates = GetParam().gates;
  EXPECT_EQ(make_error(machine_of(Shape{}), config), GetParam().error);
}

const std::map<std::string, bool> kAlpha = {{"CPUManagerPolicyAlphaOptions", true}};

INSTANTIATE_TEST_SUITE_P(
    Table, CpuOptions,
    testing::Values(
        ErrorCase{"none", {}, {}, ""},
        ErrorCase{"unknown",
                  {{"full-pcpus", "true"}},
                  {},
                  "new static policy error: unknown CPU Manager Policy option: \"full-pcpus\""},
        ErrorCase{"first_by_name",
                  {{"zz", "true"}, {"aa", "true"}},
                  {},
                  "new static policy error: unknown CPU Manager Policy option: \"aa\""},
        ErrorCase{"alpha_is_hidden",
                  {{"align-by-socket", "false"}},
                  {},
                  "new static policy error: CPU Manager Policy Alpha-level Options not enabled, "
                  "but option \"align-by-socket\" provided"},
        ErrorCase{"beta_can_be_hidden",
                  {{"distribute-cpus-across-numa", "true"}},
                  {{"CPUManagerPolicyBetaOptions", false}},
                  "new static policy error: CPU Manager Policy Beta-level Options not enabled, "
                  "but option \"distribute-cpus-across-numa\" provided"},
        ErrorCase{"strict_is_never_hidden",
                  {{"strict-cpu-reservation", "true"}},
                  {{"CPUManagerPolicyBetaOptions", false}},
                  ""},
        ErrorCase{"uncore_is_never_hidden",
                  {{"prefer-align-cpus-by-uncorecache", "true"}},
                  {{"CPUManagerPolicyBetaOptions", false}},
                  ""},
        ErrorCase{"go_booleans", {{"full-pcpus-only", "T"}}, {}, ""},
        ErrorCase{"not_a_boolean",
                  {{"full-pcpus-only", "yes"}},
                  {},
                  "new static policy error: bad value for option \"full-pcpus-only\": "
                  "strconv.ParseBool: parsing \"yes\": invalid syntax"},
        ErrorCase{"cores_and_full",
                  {{"distribute-cpus-across-cores", "true"}, {"full-pcpus-only", "true"}},
                  kAlpha,
                  "new static policy error: static policy options full-pcpus-only and "
                  "distribute-cpus-across-cores can not be used at the same time"},
        ErrorCase{
            "cores_and_numa",
            {{"distribute-cpus-across-cores", "true"}, {"distribute-cpus-across-numa", "true"}},
            kAlpha,
            "new static policy error: static policy options distribute-cpus-across-numa and "
            "distribute-cpus-across-cores can not be used at the same time"},
        ErrorCase{"cores_and_uncore",
                  {{"distribute-cpus-across-cores", "true"},
                   {"prefer-align-cpus-by-uncorecache", "true"}},
                  kAlpha,
                  "new static policy error: static policy options prefer-align-cpus-by-uncorecache "
                  "and distribute-cpus-across-cores can not be used at the same time"},
        ErrorCase{
            "numa_and_uncore",
            {{"distribute-cpus-across-numa", "true"}, {"prefer-align-cpus-by-uncorecache", "true"}},
            {},
            "new static policy error: static policy options prefer-align-cpus-by-uncorecache "
            "and distribute-cpus-across-numa can not be used at the same time"},
        ErrorCase{"switched_off_does_not_exclude",
                  {{"distribute-cpus-across-cores", "false"}, {"full-pcpus-only", "true"}},
                  kAlpha,
                  ""}),
    [](const auto& c) { return std::string(c.param.name); });

TEST(CpuOptionsOnMachine, SocketAlignmentNeedsAsManyNumaNodesAsSockets) {
  MachineDescription description = describe({.sockets = 2});
  for (Cpu& cpu : description.cpus) cpu.numa = NumaId{0};
  EXPECT_EQ(make_error(machine_of(description), static_policy({{"align-by-socket", "true"}})),
            "new static policy error: Align by socket is not compatible with hardware where number "
            "of sockets are more than number of NUMA");
}

TEST(CpuOptionsOnMachine, SocketAlignmentExcludesSingleNumaNode) {
  Config config = static_policy({{"align-by-socket", "true"}});
  config.topology_manager_policy = "single-numa-node";
  EXPECT_EQ(make_error(machine_of(Shape{}), config),
            "new static policy error: Topolgy manager single-numa-node policy is incompatible with "
            "CPUManager align-by-socket policy option");
}

TEST(CpuPolicy, UnknownNameIsRejected) {
  Config config;
  config.cpu_manager_policy = "Static";
  EXPECT_EQ(make_error(machine_of(Shape{}), config), "unknown policy: \"Static\"");
}

TEST(CpuPolicy, NoneTakesNoOptions) {
  Config config;
  config.cpu_manager_policy_options = {{"b", "1"}, {"a", "true"}};
  EXPECT_EQ(make_error(machine_of(Shape{}), config),
            "new none policy error: None policy: received unsupported options=map[a:true b:1]");
}

}  // namespace
}  // namespace pinfold::test
