#include "pinfold/cluster/in_flight.hpp"

#include <gtest/gtest.h>

#include "cluster_objects.hpp"

namespace pinfold::cluster {
namespace {

using kube::Time;

class InFlightTest : public testing::Test {
 protected:
  InFlightTest() {
    (void)fleet.add(test::eight_each("a"));
    (void)fleet.add(test::eight_each("b"));
  }
  static PodUid uid(const std::string& name) { return PodUid(name); }
  [[nodiscard]] InFlight::Candidate cpus(std::size_t node, std::int64_t milli) const {
    return {node, {{{0, *fleet.resource_id("cpu"), milli}}}};
  }
  /// Returns the CPU available on the first zone of each node.
  [[nodiscard]] std::string free() const {
    return std::to_string(fleet.available(0, 0)[0]) + " " +
           std::to_string(fleet.available(1, 0)[0]);
  }

  Fleet fleet;
  InFlight in_flight;
};

TEST_F(InFlightTest, ChargesEveryCandidateUntilThePodIsRemoved) {
  in_flight.set(fleet, uid("p"), {cpus(1, 3000), cpus(0, 3000)}, 2, Time(10));
  in_flight.set(fleet, uid("q"), {cpus(1, 1000)}, 1, Time(10));
  EXPECT_EQ(free(), "5000 4000");
  in_flight.remove(fleet, uid("p"));
  EXPECT_EQ(free(), "8000 7000");
  in_flight.remove(fleet, uid("p"));
  in_flight.remove(fleet, uid("q"));
  EXPECT_EQ(free(), "8000 8000");
}

TEST_F(InFlightTest, AnAnswerReplacesTheEarlierOne) {
  in_flight.set(fleet, uid("p"), {cpus(0, 3000)}, 1, Time(10));
  in_flight.set(fleet, uid("p"), {cpus(1, 2000)}, 1, Time(20));
  EXPECT_EQ(free(), "8000 6000");
  in_flight.set(fleet, uid("p"), {}, 0, Time(20));
  EXPECT_EQ(free(), "8000 8000");
  EXPECT_EQ(in_flight.size(), 0U);
}

TEST_F(InFlightTest, OnlyAPodForWhichOneNodeWasNamedIsCertain) {
  in_flight.set(fleet, uid("p"), {cpus(0, 3000), cpus(1, 3000)}, 2, Time(10));
  in_flight.set(fleet, uid("q"), {cpus(1, 1000)}, 1, Time(10));
  in_flight.set(fleet, uid("r"), {cpus(1, 500)}, 2, Time(10));  // without a prediction for one node
  in_flight.credit_elsewhere(fleet, 1);
  EXPECT_EQ(free(), "5000 7000");
  in_flight.charge_elsewhere(fleet, 1);
  EXPECT_EQ(free(), "5000 3500");
}

TEST_F(InFlightTest, APodCanBeLeftOutForAMoment) {
  in_flight.set(fleet, uid("p"), {cpus(0, 3000), cpus(1, 2000)}, 2, Time(10));
  in_flight.set(fleet, uid("q"), {cpus(1, 1000)}, 1, Time(10));
  in_flight.credit(fleet, uid("p"));
  EXPECT_EQ(free(), "8000 7000");
  in_flight.charge(fleet, uid("p"));
  in_flight.credit(fleet, uid("unknown"));
  EXPECT_EQ(free(), "5000 5000");
}

TEST_F(InFlightTest, RowsThatAreWrittenAnewAreChargedAgain) {
  in_flight.set(fleet, uid("p"), {cpus(0, 3000), cpus(1, 2000)}, 2, Time(10));
  in_flight.set(fleet, uid("q"), {cpus(1, 1000)}, 1, Time(10));
  fleet.clear(1);
  in_flight.charge_node(fleet, 1);
  EXPECT_EQ(free(), "5000 5000");
  in_flight.remove(fleet, uid("p"));
  in_flight.remove(fleet, uid("q"));
  EXPECT_EQ(free(), "8000 8000");
}

TEST_F(InFlightTest, EndsWithTime) {
  in_flight.set(fleet, uid("p"), {cpus(1, 3000)}, 1, Time(10));
  in_flight.set(fleet, uid("q"), {cpus(0, 3000)}, 1, Time(20));
  in_flight.expire(fleet, Time(9));
  EXPECT_EQ(in_flight.size(), 2U);
  in_flight.expire(fleet, Time(10));
  EXPECT_EQ(in_flight.size(), 1U);
  EXPECT_EQ(free(), "5000 8000");
}

TEST_F(InFlightTest, ANodeWhoseZonesHaveChangedIsNotCredited) {
  in_flight.set(fleet, uid("p"), {cpus(0, 3000), cpus(1, 3000)}, 2, Time(10));
  ASSERT_TRUE(fleet.replace(1, test::zones_of("b", "restricted", "pod", {{"cpu", {"4"}}})));
  in_flight.forget_node(1);
  in_flight.charge_node(fleet, 1);
  in_flight.remove(fleet, uid("p"));
  EXPECT_EQ(free(), "8000 4000");
}

TEST_F(InFlightTest, TheOldestPodsMakeRoom) {
  const std::vector<InFlight::Candidate> many(InFlight::kMostCandidates / 2, cpus(0, 1));
  in_flight.set(fleet, uid("b"), many, 9, Time(10));
  in_flight.set(fleet, uid("a"), many, 9, Time(20));
  EXPECT_EQ(in_flight.size(), 2U);
  in_flight.set(fleet, uid("c"), {cpus(1, 1)}, 1, Time(30));
  EXPECT_FALSE(in_flight.contains(uid("b")));
  EXPECT_EQ(in_flight.size(), 2U);
  in_flight.expire(fleet, Time(30));
  EXPECT_EQ(free(), "8000 8000");
}

}  // namespace
}  // namespace pinfold::cluster
