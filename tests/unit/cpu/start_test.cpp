#include <gtest/gtest.h>

#include "../../support/cpu_fixture.hpp"

namespace pinfold::test {
namespace {

// Two sockets of two SMT cores: cores {0,4} {1,5} on socket 0, {2,6} {3,7} on socket 1.
const Shape kTwoSocketsSmt{.sockets = 2, .cores_per_cache = 2};

std::string reserved(const NodeReservation& reservation, const Options& options = {}) {
  const Machine machine = machine_of(kTwoSocketsSmt);
  const auto manager = CpuManager::make(machine, static_policy(options), reservation);
  return manager ? manager->reserved().to_string() : manager.error().message;
}

TEST(CpuReservation, CountIsRoundedUpAndTakenInTopologyOrder) {
  EXPECT_EQ(reserved(reserve_count(1)), "0");
  EXPECT_EQ(reserved(reserve_count(1001)), "0,4");
  EXPECT_EQ(reserved(reserve_count(3000)), "0-1,4");
}

TEST(CpuReservation, CountUsesTheOptionsOfThePolicy) {
  EXPECT_EQ(reserved(reserve_count(2000), {{"distribute-cpus-across-cores", "true"}}), "0-1");
}

TEST(CpuReservation, SetIsUsedUnchanged) { EXPECT_EQ(reserved(reserve_set({3, 5})), "3,5"); }

TEST(CpuReservation, MustBeSetPositiveAndPossible) {
  EXPECT_EQ(reserved({}),
            "[cpumanager] unable to determine reserved CPU resources for static policy");
  EXPECT_EQ(reserved(reserve_count(0)),
            "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be "
            "greater than zero");
  EXPECT_EQ(reserved(reserve_count(9000)),
            "new static policy error: [cpumanager] unable to reserve the required amount of CPUs "
            "(size of  did not equal 9)");
  EXPECT_EQ(reserved(reserve_set({0, 900})),
            "new static policy error: [cpumanager] unable to build the reserved physical CPUs from "
            "the reserved set: unknown CPU ID: 900");
}

TEST(CpuReservation, CountIsCheckedBeforeTheOptions) {
  EXPECT_EQ(reserved(reserve_count(0), {{"unknown", "true"}}),
            "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be "
            "greater than zero");
}

struct StartCase {
  const char* name;
  Options options;
  CpuState state;
  std::string error;        ///< "" if the start succeeds
  std::string default_set;  ///< afterwards
};

CpuState state_of(const char* default_set, std::map<std::string, CpuSet> containers = {}) {
  CpuState state;
  state.default_set = CpuSet::parse(default_set).value();
  if (!containers.empty()) state.assignments[PodUid("p")] = std::move(containers);
  return state;
}

const Options kStrict = {{"strict-cpu-reservation", "true"}};

class CpuStart : public testing::TestWithParam<StartCase> {};

TEST_P(CpuStart, ChecksTheState) {
  const Machine machine = machine_of(kTwoSocketsSmt);
  Config config = static_policy(GetParam().options);
  const CpuManager manager = CpuManager::make(machine, config, reserve_set({0, 4})).value();
  CpuState state = GetParam().state;
  const auto started = manager.start(state);
  EXPECT_EQ(started ? "" : started.error().message, GetParam().error);
  EXPECT_EQ(state.default_set.to_string(), GetParam().default_set);
  if (started) return;
  EXPECT_EQ(started.error().code, ErrorCode::kCorrupt);
}

INSTANTIATE_TEST_SUITE_P(
    Table, CpuStart,
    testing::Values(
        StartCase{"fills_an_empty_state", {}, {}, "", "0-7"},
        StartCase{"strict_leaves_the_reserved_out", kStrict, {}, "", "1-3,5-7"},
        StartCase{
            "accepts_a_sound_state", {}, state_of("0-1,4-5", {{"c", {2, 3, 6, 7}}}), "", "0-1,4-5"},
        StartCase{"default_set_used_up",
                  {},
                  state_of("", {{"c", {1}}}),
                  "default cpuset cannot be empty",
                  ""},
        StartCase{"reserved_cpus_given_away",
                  {},
                  state_of("1-7", {{"c", {0}}}),
                  "not all reserved cpus: \"0,4\" are present in defaultCpuSet: \"1-7\"",
                  "1-7"},
        StartCase{"reserved_cpus_shared_under_strict", kStrict, state_of("0-7"),
                  "some of strictly reserved cpus: \"0,4\" are present in defaultCpuSet: \"0-7\"",
                  "0-7"},
        StartCase{"overlap_with_the_default_set",
                  {},
                  state_of("0-7", {{"d", {3}}, {"c", {1, 2}}}),
                  "pod: p, container: c cpuset: \"1-2\" overlaps with default cpuset \"0-7\"",
                  "0-7"},
        StartCase{"a_cpu_went",
                  {},
                  state_of("0-8"),
                  "current set of available CPUs \"0-7\" doesn't match with CPUs in state \"0-8\"",
                  "0-8"},
        StartCase{"a_cpu_came",
                  {},
                  state_of("0-4,6-7"),
                  "current set of available CPUs \"0-7\" doesn't match with CPUs in state "
                  "\"0-4,6-7\"",
                  "0-4,6-7"}),
    [](const auto& c) { return std::string(c.param.name); });

TEST(CpuStartOnce, CountsPodSetsOnlyUnderTheirGate) {
  const Machine machine = machine_of(kTwoSocketsSmt);
  CpuState state = state_of("0-3");
  state.pods[PodUid("p")] = {4, 5, 6, 7};
  Config config = static_policy();
  const NodeReservation reservation = reserve_set({0});
  EXPECT_FALSE(CpuManager::make(machine, config, reservation)->start(state));
  config.feature_gates["PodLevelResourceManagers"] = true;
  EXPECT_TRUE(CpuManager::make(machine, config, reservation)->start(state));
}

TEST(CpuStartOnce, DropsReusableCpus) {
  const Machine machine = machine_of(kTwoSocketsSmt);
  CpuState state;
  state.reusable_pod = PodUid("p");
  state.reusable = {1};
  ASSERT_TRUE(CpuManager::make(machine, static_policy(), reserve_count(1000))->start(state));
  EXPECT_EQ(state.reusable_pod, PodUid());
  EXPECT_TRUE(state.reusable.empty());
}

TEST(CpuStartOnce, PolicyNoneKeepsTheState) {
  const Machine machine = machine_of(kTwoSocketsSmt);
  CpuState state;
  ASSERT_TRUE(CpuManager::make(machine, Config{}, {})->start(state));
  EXPECT_EQ(state, CpuState{});
}

}  // namespace
}  // namespace pinfold::test
