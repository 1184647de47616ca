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
  static PodRef ref(const std::string& uid) { return {PodUid(uid), "default", uid}; }
  [[nodiscard]] InFlight::Candidate cpus(std::size_t node, std::int64_t milli) const {
    return {node, {{{0, *fleet.resource_id("cpu"), milli}}}};
  }
  [[nodiscard]] std::int64_t free_on(std::size_t node) const { return fleet.available(node, 0)[0]; }

  Fleet fleet;
  InFlight in_flight;
};

TEST_F(InFlightTest, ChargesEveryCandidateOfTheOthers) {
  in_flight.set(ref("p"), {cpus(1, 3000), cpus(0, 3000)}, 2, Time(10));
  in_flight.set(ref("q"), {cpus(1, 1000)}, 1, Time(10));
  in_flight.charge(fleet, PodUid("q"), InFlight::Which::kAll);
  EXPECT_EQ(free_on(0), 5000);
  EXPECT_EQ(free_on(1), 5000);
  in_flight.credit(fleet, PodUid("q"), InFlight::Which::kAll);
  EXPECT_EQ(free_on(0), 8000);
  EXPECT_EQ(free_on(1), 8000);
}

TEST_F(InFlightTest, OnlyAPodForWhichOneNodeWasNamedIsCertain) {
  in_flight.set(ref("p"), {cpus(1, 3000), cpus(0, 3000)}, 2, Time(10));
  in_flight.set(ref("q"), {cpus(1, 1000)}, 1, Time(10));
  in_flight.charge(fleet, PodUid("r"), InFlight::Which::kCertain);
  EXPECT_EQ(free_on(0), 8000);
  EXPECT_EQ(free_on(1), 7000);
}

TEST_F(InFlightTest, NamesAnotherPodOfANode) {
  in_flight.set(ref("p"), {cpus(1, 3000)}, 1, Time(10));
  EXPECT_EQ(in_flight.pod_on(1, PodUid("q"))->name, "p");
  EXPECT_EQ(in_flight.pod_on(1, PodUid("p")), nullptr);
  EXPECT_EQ(in_flight.pod_on(0, PodUid("q")), nullptr);
}

TEST_F(InFlightTest, EndsWithTimeWithTheNodeAndWithoutCandidates) {
  in_flight.set(ref("p"), {cpus(1, 3000)}, 1, Time(10));
  in_flight.expire(Time(9));
  EXPECT_EQ(in_flight.size(), 1U);
  in_flight.forget_node(1);
  EXPECT_EQ(in_flight.pod_on(1, PodUid("q")), nullptr);
  in_flight.expire(Time(10));
  EXPECT_EQ(in_flight.size(), 0U);
  in_flight.set(ref("p"), {cpus(1, 3000)}, 1, Time(20));
  in_flight.set(ref("p"), {}, 1, Time(20));
  EXPECT_EQ(in_flight.size(), 0U);
}

}  // namespace
}  // namespace pinfold::cluster
