#include "pinfold/align/topology_manager.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "policies.hpp"
#include "topology.hpp"

namespace pinfold::test {
namespace {

struct MakeCase {
  const char* name;
  int nodes;
  std::string policy;
  std::map<std::string, std::string> options;
  std::map<std::string, bool> gates;
  std::string error;  ///< empty: the start succeeds
  Profile profile = Profile::kKubelet136;
};

class TopologyManagerMake : public testing::TestWithParam<MakeCase> {};

TEST_P(TopologyManagerMake, GivesTheKubeletsError) {
  const MakeCase& c = GetParam();
  Config config;
  config.profile = c.profile;
  config.topology_manager_policy = c.policy;
  config.topology_manager_policy_options = c.options;
  config.feature_gates = c.gates;
  const auto manager = TopologyManager::make({c.nodes, flat_distances(c.nodes)}, config);
  EXPECT_EQ(manager ? "" : manager.error().message, c.error);
}

const std::string kBeta = "TopologyManagerPolicyBetaOptions";
constexpr const char* kStrategy = "numa-allocation-strategy";
constexpr const char* kWeights = "numa-score-weights";
const std::string kAlpha = "TopologyManagerPolicyAlphaOptions";

INSTANTIATE_TEST_SUITE_P(
    , TopologyManagerMake,
    testing::Values(
        MakeCase{"Plain", 8, "best-effort", {}, {}, ""},
        MakeCase{"NineNodes",
                 9,
                 "restricted",
                 {},
                 {},
                 "unsupported on machines with more than 8 NUMA Nodes"},
        MakeCase{"NineNodesWithoutPolicy", 9, "none", {}, {}, ""},
        MakeCase{"NineNodesAllowed", 9, "restricted", {{"max-allowable-numa-nodes", "9"}}, {}, ""},
        MakeCase{"SixteenNodesOfFifteen",
                 16,
                 "restricted",
                 {{"max-allowable-numa-nodes", "15"}},
                 {},
                 "unsupported on machines with more than 15 NUMA Nodes"},
        MakeCase{"LimitBelowTheMinimum",
                 2,
                 "restricted",
                 {{"max-allowable-numa-nodes", "7"}},
                 {},
                 "the minimum value of \"max-allowable-numa-nodes\" should not be less than 8"},
        MakeCase{"LimitNegative",
                 2,
                 "restricted",
                 {{"max-allowable-numa-nodes", "-1"}},
                 {},
                 "the minimum value of \"max-allowable-numa-nodes\" should not be less than 8"},
        MakeCase{"LimitNoNumber",
                 2,
                 "restricted",
                 {{"max-allowable-numa-nodes", "8.0"}},
                 {},
                 "unable to convert policy option to integer \"max-allowable-numa-nodes\": "
                 "strconv.Atoi: parsing \"8.0\": invalid syntax"},
        MakeCase{"ClosestNoBool",
                 2,
                 "restricted",
                 {{"prefer-closest-numa-nodes", "nope"}},
                 {},
                 "bad value for option \"prefer-closest-numa-nodes\": strconv.ParseBool: parsing "
                 "\"nope\": invalid syntax"},
        MakeCase{"UnknownOption",
                 2,
                 "best-effort",
                 {{"Full", "true"}},
                 {},
                 "unknown Topology Manager Policy option: \"Full\""},
        MakeCase{"FirstOfSeveralByName",
                 2,
                 "best-effort",
                 {{"prefer-closest-numa-nodes", "x"}, {"max-allowable-numa-nodes", "y"}},
                 {},
                 "unable to convert policy option to integer \"max-allowable-numa-nodes\": "
                 "strconv.Atoi: parsing \"y\": invalid syntax"},
        MakeCase{"OptionsDoNotMatterWithoutPolicy", 2, "none", {{"Full", "true"}}, {}, ""},
        MakeCase{"StableOptionNeedsNoGate",
                 2,
                 "best-effort",
                 {{"prefer-closest-numa-nodes", "true"}},
                 {{kBeta, false}},
                 ""},
        MakeCase{"AlphaGateOff",
                 2,
                 "best-effort",
                 {{"prefer-most-allocated-numa-node", "x"}},
                 {},
                 "topology manager policy alpha-level options not enabled, but option "
                 "\"prefer-most-allocated-numa-node\" provided",
                 Profile::kFixed},
        MakeCase{"AlphaOptionInert",
                 2,
                 "restricted",
                 {{"prefer-most-allocated-numa-node", "true"}},
                 {{kAlpha, true}},
                 "",
                 Profile::kFixed},
        MakeCase{"AlphaOptionNoBool",
                 2,
                 "single-numa-node",
                 {{"prefer-most-allocated-numa-node", "x"}},
                 {{kAlpha, true}},
                 "bad value for option \"prefer-most-allocated-numa-node\": strconv.ParseBool: "
                 "parsing \"x\": invalid syntax",
                 Profile::kFixed},
        MakeCase{"NoStrategy",
                 2,
                 "restricted",
                 {{kStrategy, ""}},
                 {{kAlpha, true}},
                 "",
                 Profile::kKubelet138},
        MakeCase{
            "UnknownStrategy",
            2,
            "single-numa-node",
            {{kStrategy, "Most-Allocated"}},
            {{kAlpha, true}},
            "bad value for option \"numa-allocation-strategy\": \"Most-Allocated\" must be one "
            "of [\"least-allocated\" \"most-allocated\" \"none\"]",
            Profile::kKubelet138},
        MakeCase{"StrategyGateOff",
                 2,
                 "single-numa-node",
                 {{kStrategy, "most-allocated"}},
                 {},
                 "topology manager policy alpha-level options not enabled, but option "
                 "\"numa-allocation-strategy\" provided",
                 Profile::kKubelet138},
        MakeCase{"WeightsGateOff",
                 2,
                 "best-effort",
                 {{kWeights, "cpu=3,memory=1"}},
                 {},
                 "topology manager policy alpha-level options not enabled, but option "
                 "\"numa-score-weights\" provided",
                 Profile::kKubelet138},
        MakeCase{"BlanksAndEmptyEntriesOfWeights",
                 2,
                 "best-effort",
                 {{kWeights, " cpu = 3 ,, nvidia.com/gpu=0,"}},
                 {{kAlpha, true}},
                 "",
                 Profile::kKubelet138},
        MakeCase{"WeightWithoutEquals",
                 2,
                 "best-effort",
                 {{kWeights, "memory=1, cpu:3"}},
                 {{kAlpha, true}},
                 "bad value for option \"numa-score-weights\": invalid weight entry \"cpu:3\": "
                 "expected resource=weight",
                 Profile::kKubelet138},
        MakeCase{"WeightWithoutResource",
                 2,
                 "best-effort",
                 {{kWeights, " =3"}},
                 {{kAlpha, true}},
                 "bad value for option \"numa-score-weights\": empty resource name in weight entry "
                 "\"=3\"",
                 Profile::kKubelet138},
        MakeCase{"FractionalWeight",
                 2,
                 "best-effort",
                 {{kWeights, "cpu=3.5"}},
                 {{kAlpha, true}},
                 "bad value for option \"numa-score-weights\": invalid weight value for \"cpu\": "
                 "strconv.Atoi: parsing \"3.5\": invalid syntax",
                 Profile::kKubelet138},
        MakeCase{"NegativeWeight",
                 2,
                 "best-effort",
                 {{kWeights, "memory=-5,cpu=101"}},
                 {{kAlpha, true}},
                 "bad value for option \"numa-score-weights\": weight for \"cpu\" must be in range "
                 "[0, 100], got 101",
                 Profile::kKubelet138},
        MakeCase{"AllAreReadBeforeOneIsChecked",
                 2,
                 "best-effort",
                 {{kWeights, "memory=-5,cpu=x"}},
                 {{kAlpha, true}},
                 "bad value for option \"numa-score-weights\": invalid weight value for \"cpu\": "
                 "strconv.Atoi: parsing \"x\": invalid syntax",
                 Profile::kKubelet138},
        MakeCase{"LastWeightCounts",
                 2,
                 "best-effort",
                 {{kWeights, "cpu=101,cpu=1"}},
                 {{kAlpha, true}},
                 "",
                 Profile::kKubelet138},
        MakeCase{"DraftAndStrategy",
                 2,
                 "single-numa-node",
                 {{kStrategy, "most-allocated"}, {"prefer-most-allocated-numa-node", "true"}},
                 {{kAlpha, true}},
                 "options \"prefer-most-allocated-numa-node\" and \"numa-allocation-strategy\" "
                 "contradict each other: expected one of them",
                 Profile::kFixed},
        MakeCase{"UnknownPolicy", 2, "bogus", {}, {}, "unknown policy: \"bogus\""}),
    [](const auto& c) { return c.param.name; });

TEST(TopologyManagerMakeMore, NeedsDistancesForTheClosestNodes) {
  Config config = config_of(TopologyPolicy::kRestricted, {.prefer_closest_numa_nodes = true});
  const char* const error =
      "cannot discover NUMA topology: error getting NUMA distances from cadvisor";
  const auto none = TopologyManager::make({2, {}}, config);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, error);
  const auto one_missing = TopologyManager::make({2, {{10, 21}, {}}}, config);
  ASSERT_FALSE(one_missing);
  EXPECT_EQ(one_missing.error().message, error);
  config.topology_manager_policy_options["prefer-closest-numa-nodes"] = "false";
  EXPECT_TRUE(TopologyManager::make({2, {}}, config));
}

TEST(TopologyManagerMakeMore, RejectsAnUnknownScope) {
  Config config = config_of(TopologyPolicy::kRestricted, {});
  config.topology_manager_scope = "node";
  const auto manager = TopologyManager::make({2, {}}, config);
  ASSERT_FALSE(manager);
  EXPECT_EQ(manager.error().message, "unknown scope: \"node\"");
}

TEST(TopologyQuirks, NumaNodesLimitedTo8) {
  Config config = config_of(TopologyPolicy::kRestricted, {});
  EXPECT_TRUE(TopologyManager::make({64, {}}, config));
  EXPECT_FALSE(TopologyManager::make({65, {}}, config));
  config.topology_manager_policy_options["max-allowable-numa-nodes"] = "8";
  EXPECT_FALSE(TopologyManager::make({9, {}}, config));
  config.topology_manager_policy_options.clear();
  config.profile = Profile::kKubelet136;
  EXPECT_TRUE(TopologyManager::make({8, {}}, config));
  EXPECT_FALSE(TopologyManager::make({9, {}}, config));
}

struct MergeCase {
  const char* name;
  TopologyPolicy policy;
  int nodes;
  std::vector<ResourceHints> providers;
  MergedHint expected;
};

class TopologyManagerMerge : public testing::TestWithParam<MergeCase> {};

TEST_P(TopologyManagerMerge, KeepsTheKubeletsHint) {
  const MergeCase& c = GetParam();
  const TopologyManager manager =
      TopologyManager::make({c.nodes, {}}, config_of(c.policy, {})).value();
  EXPECT_EQ(manager.merge(c.providers, {}), c.expected);
}

const TopologyHint kNowhere{std::nullopt, false};
const TopologyHint kAnywhere{std::nullopt, true};

INSTANTIATE_TEST_SUITE_P(
    , TopologyManagerMerge,
    testing::Values(
        MergeCase{
            "NoneAdmitsAnything", TopologyPolicy::kNone, 2, {{{"cpu", Hints{}}}}, {kNowhere, true}},
        MergeCase{"NoProvider", kRestricted, 2, {}, {on(0b11), true}},
        MergeCase{"NoPreference", kRestricted, 2, {{}, {{"cpu", std::nullopt}}}, {on(0b11), true}},
        MergeCase{
            "NoPreferenceSingle", kSingle, 2, {{}, {{"cpu", std::nullopt}}}, {kAnywhere, true}},
        MergeCase{"ImpossibleBestEffort", kBestEffort, 2, {{{"cpu", Hints{}}}}, {off(0b11), true}},
        MergeCase{"ImpossibleRestricted", kRestricted, 2, {{{"cpu", Hints{}}}}, {off(0b11), false}},
        MergeCase{"ImpossibleSingle", kSingle, 2, {{{"cpu", Hints{}}}}, {kNowhere, false}},
        MergeCase{"ImpossibleAndOneNode",
                  kBestEffort,
                  2,
                  {{{"cpu", Hints{}}, {"gpu", Hints{on(0b10)}}}},
                  {off(0b10), true}},
        MergeCase{
            "LowestOfEqualNodes",
            kRestricted,
            4,
            {{{"cpu", Hints{on(0b0010), on(0b0100)}}}, {{"memory", Hints{on(0b0010), on(0b0100)}}}},
            {on(0b0010), true}},
        MergeCase{"PreferredNeedsEqualMasks",
                  kRestricted,
                  2,
                  {{{"cpu", Hints{on(0b01), on(0b10)}}}, {{"gpu", Hints{on(0b11)}}}},
                  {off(0b01), false}},
        MergeCase{"WidestNeedIsWanted",
                  kBestEffort,
                  4,
                  {{{"cpu", Hints{off(0b0001), off(0b0111)}}}, {{"gpu", Hints{off(0b0011)}}}},
                  {off(0b0011), true}},
        MergeCase{"NothingInCommon",
                  kBestEffort,
                  2,
                  {{{"cpu", Hints{on(0b01)}}}, {{"gpu", Hints{on(0b10)}}}},
                  {off(0b11), true}},
        MergeCase{"SingleIgnoresWideHints",
                  kSingle,
                  2,
                  {{{"cpu", Hints{on(0b10), on(0b11)}}}, {{"gpu", Hints{on(0b11)}}}},
                  {kNowhere, false}},
        MergeCase{"SingleIgnoresUnpreferredHints",
                  kSingle,
                  2,
                  {{{"cpu", Hints{off(0b10)}}}},
                  {kNowhere, false}},
        MergeCase{"SingleStoresTheNode",
                  kSingle,
                  2,
                  {{{"cpu", Hints{on(0b01), on(0b10)}}}, {{"gpu", Hints{on(0b10)}}}},
                  {on(0b10), true}},
        MergeCase{"SingleStoresNothingOnOneNode",
                  kSingle,
                  1,
                  {{{"cpu", Hints{on(0b1)}}}},
                  {kAnywhere, true}},
        MergeCase{
            "OneNodeRestricted", kRestricted, 1, {{{"cpu", Hints{on(0b1)}}}}, {on(0b1), true}}),
    [](const auto& c) { return c.param.name; });

TEST(TopologyOptionNames, AreKnownToSomeKubelets) {
  const auto error_of = [](Profile profile, const char* option, const char* value) {
    Config config;
    config.profile = profile;
    config.topology_manager_policy = "restricted";
    config.feature_gates = {{kAlpha, true}, {kBeta, false}};
    config.topology_manager_policy_options = {{option, value}};
    const auto made = TopologyManager::make({2, flat_distances(2)}, config);
    return made ? "" : made.error().message.substr(0, made.error().message.find(':'));
  };
  const std::string unknown = "unknown Topology Manager Policy option";
  for (const Profile profile : kProfiles) {
    const bool is_new = profile == Profile::kKubelet138 || profile == Profile::kFixed;
    EXPECT_EQ(error_of(profile, "numa-allocation-strategy", "none"), is_new ? "" : unknown)
        << to_string(profile);
    EXPECT_EQ(error_of(profile, "numa-score-weights", "cpu=1"), is_new ? "" : unknown)
        << to_string(profile);
    EXPECT_EQ(error_of(profile, "prefer-most-allocated-numa-node", "true"),
              profile == Profile::kFixed ? "" : unknown)
        << to_string(profile);
    EXPECT_EQ(error_of(profile, "prefer-closest-numa-nodes", "true"), "") << to_string(profile);
  }
}

TEST(PreferMostAllocated, MayBeCyclic) {
  NaiveRules rules;
  rules.policy = kSingle;
  rules.nodes = 3;
  rules.options.prefer_most_allocated_numa_node = true;
  // 2 is busier than 0 by both scores; for 0 and 1, and for 1 and 2, they disagree: the lower wins.
  rules.usage = {{"cpu", usage_of({10, 0, 20})}, {"memory", usage_of({10, 30, 20})}};
  const TopologyManager manager = manager_of(rules);
  const auto merged = [&](Hints order) {
    return manager.merge(std::vector<ResourceHints>{{{"cpu", std::move(order)}}}, rules.usage);
  };
  EXPECT_EQ(merged({on(1), on(2), on(4)}).best, on(4));
  EXPECT_EQ(merged({on(2), on(4), on(1)}).best, on(1));
}

}  // namespace
}  // namespace pinfold::test
