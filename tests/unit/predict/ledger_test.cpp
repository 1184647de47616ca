#include "pinfold/predict/ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "node_fixture.hpp"
#include "pinfold/predict/fields.hpp"
#include "zones.hpp"

namespace pinfold {
namespace {

using test::predicted;
using testing::ElementsAre;
using testing::IsEmpty;

/// Writes the JSON of a placement from {"node-0":{"cpu":"2"}}.
nlohmann::json placement(const char* text) {
  auto out = nlohmann::json::array();
  const auto zones = nlohmann::json::parse(text);
  for (const auto& [zone, amounts] : zones.items()) {
    for (const auto& [resource, amount] : amounts.items()) {
      const auto parsed = Quantity::parse(amount.get<std::string>()).value();
      out.push_back(
          {{"zone", zone}, {"resource", resource}, {"amount", base_units(resource, parsed)}});
    }
  }
  return out;
}

/// Two nodes, each with two zones of 8 CPUs and 4 GPUs.
class Ledgers : public testing::Test {
 protected:
  Ledgers() {
    for (const char* const name : {"a", "b"}) {
      (void)fleet_.add(
          test::two_zones("restricted", "pod", {{"cpu", "8"}, {"example.com/gpu", "4"}}, name));
    }
  }

  Placement at(const char* text, std::size_t node = 0) {
    return placement_from_json(fleet_, node, placement(text)).value();
  }
  void bind(const std::string& uid, const char* amounts, std::size_t node = 0) {
    BoundPod pod{PodUid(uid), node, {at(amounts, node), std::nullopt}};
    fleet_.charge(node, *pod.record.predicted);
    ASSERT_TRUE(ledger_.add_bound(pod));
  }
  /// CPUs available on the zones of a node, in milli-CPUs.
  std::vector<std::int64_t> cpus(std::size_t node = 0) {
    const auto shape = fleet_.resources_of_shape(fleet_.shape_number(node));
    for (std::size_t row = 0; row < shape.size(); ++row) {
      if (fleet_.resource_name(shape[row]) == "cpu") {
        const auto zones = fleet_.available(node, row);
        return {zones.begin(), zones.end()};
      }
    }
    return {};
  }
  PodSpec wants(const char* count) { return test::pod("p", {{"cpu", count}, {"memory", "1Mi"}}); }

  Fleet fleet_;
  Ledger ledger_{fleet_};
};

TEST_F(Ledgers, ChargesAndCreditsExactAmounts) {
  const auto before = cpus();
  ledger_.place(PodUid("p"), 0, at(R"({"node-0":{"cpu":"2500m"},"node-1":{"cpu":"7"}})"));
  EXPECT_THAT(cpus(), ElementsAre(5500, 1000));
  ASSERT_NE(ledger_.find(PodUid("p")), nullptr);
  ASSERT_TRUE(ledger_.remove(PodUid("p")));
  EXPECT_EQ(cpus(), before);
  EXPECT_EQ(ledger_.find(PodUid("p")), nullptr);
  EXPECT_EQ(ledger_.remove(PodUid("p")).error().message, "pod 'p' is not placed");
}

TEST_F(Ledgers, CreditIsExactEvenBelowZero) {
  ledger_.place(PodUid("p"), 0, at(R"({"node-0":{"cpu":"12"}})"));
  EXPECT_THAT(cpus(), ElementsAre(-4000, 8000));
  ASSERT_TRUE(ledger_.remove(PodUid("p")));
  EXPECT_THAT(cpus(), ElementsAre(8000, 8000));
}

TEST_F(Ledgers, EvictingAPodFreesTheZoneItIsOn) {
  bind("v0", R"({"node-0":{"cpu":"8"}})");
  bind("v1", R"({"node-1":{"cpu":"8"}})");
  EXPECT_EQ(predicted(fleet_, wants("6")), "rejected");
  ASSERT_TRUE(ledger_.remove(PodUid("v1")));
  EXPECT_EQ(predicted(fleet_, wants("6")), "1");
  EXPECT_THAT(ledger_.evictions(), ElementsAre(PodUid("v1")));
}

TEST_F(Ledgers, APodWithoutARecordFreesNothing) {
  bind("v0", R"({"node-0":{"cpu":"8"}})");
  fleet_.charge(0, at(R"({"node-1":{"cpu":"8"}})"));  // used by an unknown pod
  ASSERT_TRUE(ledger_.add_bound({PodUid("unknown"), 0, {}}));
  ASSERT_TRUE(ledger_.remove(PodUid("unknown")));
  EXPECT_EQ(predicted(fleet_, wants("6")), "rejected");
  EXPECT_FALSE(ledger_.add_bound({PodUid("unknown"), 0, {}}));
}

TEST_F(Ledgers, AnEvictedPodThatReturnsToItsZoneIsNotEvicted) {
  bind("v", R"({"node-0":{"cpu":"4"},"node-1":{"cpu":"2"}})");
  ASSERT_TRUE(ledger_.remove(PodUid("v")));
  ledger_.place(PodUid("v"), 0, at(R"({"node-0":{"cpu":"4"},"node-1":{"cpu":"2"}})"));
  EXPECT_THAT(ledger_.evictions(), IsEmpty());
}

TEST_F(Ledgers, OtherAmountsOnTheSameZonesAreAMove) {
  bind("v", R"({"node-0":{"cpu":"4"},"node-1":{"cpu":"2"}})");
  ASSERT_TRUE(ledger_.remove(PodUid("v")));
  ledger_.place(PodUid("v"), 0, at(R"({"node-0":{"cpu":"2"},"node-1":{"cpu":"4"}})"));
  EXPECT_THAT(ledger_.evictions(), ElementsAre(PodUid("v")));
  EXPECT_THAT(cpus(), ElementsAre(6000, 4000));
}

TEST_F(Ledgers, NestedWhatIfsAreDiscardedExactly) {
  bind("v0", R"({"node-0":{"cpu":"6"}})");
  bind("v1", R"({"node-1":{"cpu":"5"}})");
  const auto before = cpus();
  const Ledger::Mark outer = ledger_.mark();
  ASSERT_TRUE(ledger_.remove(PodUid("v0")));
  const auto between = cpus();
  const Ledger::Mark inner = ledger_.mark();
  ledger_.place(PodUid("new"), 0, at(R"({"node-0":{"cpu":"8"}})"));
  ledger_.place(PodUid("v0"), 1, at(R"({"node-1":{"cpu":"6"}})", 1));
  ASSERT_TRUE(ledger_.remove(PodUid("v1")));
  ledger_.discard(inner);
  EXPECT_EQ(cpus(), between);
  EXPECT_THAT(cpus(1), ElementsAre(8000, 8000));
  EXPECT_EQ(ledger_.find(PodUid("new")), nullptr);
  EXPECT_THAT(ledger_.evictions(), ElementsAre(PodUid("v0")));
  ledger_.discard(outer);
  EXPECT_EQ(cpus(), before);
  EXPECT_THAT(ledger_.evictions(), IsEmpty());
}

TEST_F(Ledgers, ConsolidationMovesAPodToMakeRoom) {
  bind("v0", R"({"node-0":{"cpu":"3"}})");
  bind("v1", R"({"node-1":{"cpu":"3"}})");
  EXPECT_EQ(predicted(fleet_, wants("8")), "rejected");
  const Ledger::Mark mark = ledger_.mark();
  ASSERT_TRUE(ledger_.remove(PodUid("v1")));
  ledger_.place(PodUid("new"), 0, PodQuery(fleet_, wants("8")).place(0));
  PodQuery victim(fleet_, wants("3"));
  ASSERT_TRUE(victim.predict(0, ScoringStrategy::kLeastNumaNodes).admits());
  ledger_.place(PodUid("v1"), 0, victim.place(0));
  EXPECT_THAT(cpus(), ElementsAre(2000, 0));
  EXPECT_THAT(ledger_.evictions(), ElementsAre(PodUid("v1")));
  ledger_.discard(mark);
  EXPECT_THAT(cpus(), ElementsAre(5000, 5000));
}

TEST_F(Ledgers, PlacementOfSeveralZonesIsSplitFromTheLowestOn) {
  fleet_.charge(0, at(R"({"node-0":{"cpu":"1"}})"));
  PodQuery query(fleet_, wants("10"));
  EXPECT_EQ(to_json(fleet_, 0, query.place(0)),
            placement(R"({"node-0":{"cpu":"7"},"node-1":{"cpu":"3"}})"));
}

TEST(PlacementRecord, ObservedWinsOverPredicted) {
  PlacementRecord record;
  EXPECT_EQ(record.known(), nullptr);
  record.predicted = Placement{{{0, 0, 5}}};
  EXPECT_EQ(record.known(), &*record.predicted);
  record.observed = Placement{{{1, 0, 5}}};
  EXPECT_EQ(record.known(), &*record.observed);
}

TEST(PlacementJson, ReadsBackWhatItWrites) {
  Fleet fleet;
  ASSERT_TRUE(fleet.add(test::two_zones("restricted", "pod", {{"cpu", "8"}}, "a")));
  ASSERT_TRUE(fleet.add(test::two_zones("restricted", "pod", {{"cpu", "8"}}, "b")));
  const auto predicted_json = placement(R"({"node-0":{"cpu":"2"}})");
  const auto observed_json = placement(R"({"node-1":{"cpu":"2"}})");
  const auto pod =
      bound_pod_from_json(fleet, {{"pod", {{"uid", "p"}, {"namespace", "default"}, {"name", "p"}}},
                                  {"node", "b"},
                                  {"predicted", predicted_json},
                                  {"observed", observed_json}});
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->uid, PodUid("p"));
  EXPECT_EQ(pod->node, 1U);
  EXPECT_EQ(to_json(fleet, 1, pod->record.predicted.value()), predicted_json);
  EXPECT_EQ(to_json(fleet, 1, pod->record.observed.value()), observed_json);
}

TEST(PlacementJson, ReportsInvalidFields) {
  Fleet fleet;
  ASSERT_TRUE(fleet.add(test::two_zones("restricted", "pod", {{"cpu", "8"}}, "a")));
  const auto error = [&](const std::string& members) {
    const auto pod = bound_pod_from_json(
        fleet,
        nlohmann::json::parse(R"({"pod":{"uid":"p","namespace":"","name":""})" + members + "}"));
    return pod ? "" : pod.error().message;
  };
  EXPECT_EQ(error(R"(,"node":"a","more":1,"observed":[{"zone":"node-1","resource":"cpu",)"
                  R"("amount":1000},{"zone":"node-1","resource":"other","amount":3}])"),
            "");
  EXPECT_EQ(error(""), "node: null: expected a string");
  EXPECT_EQ(error(R"(,"node":"z")"), "node: 'z': expected the name of a node");
  EXPECT_EQ(error(R"(,"node":"a","observed":[{"zone":"node-7","resource":"cpu","amount":1}])"),
            "pod 'p': observed: zone 'node-7': expected a zone of node 'a'");
  EXPECT_EQ(error(R"(,"node":"a","predicted":[{"zone":"node-1","resource":"cpu","amount":-1}])"),
            "predicted[0].amount: -1: expected a whole number from 0 to 9223372036854775807");
  EXPECT_EQ(error(R"(,"node":"a","predicted":{"node-1":5})"),
            "predicted: an object: expected a list");
}

TEST(Reconstruct, SubtractsKnownPlacementsFromAllocatable) {
  Fleet fleet;
  NodeTopology stale = test::two_zones("restricted", "pod", {{"cpu", "8"}}, "a");
  test::set_available(stale, 0, "cpu", "1");
  ASSERT_TRUE(fleet.add(stale));
  const Placement second{{{1, *fleet.resource_id("cpu"), 3000}}};
  const Placement first{{{0, *fleet.resource_id("cpu"), 3000}}};
  reconstruct(fleet, {{PodUid("observed"), 0, {first, second}}, {PodUid("unknown"), 0, {}}});
  EXPECT_THAT(fleet.available(0, 0), ElementsAre(8000, 5000));
}

}  // namespace
}  // namespace pinfold
