#include <gtest/gtest.h>

#include <string>

#include "runtime_world.hpp"

/// The counts of unpinned containers, and of the time that they ran unpinned.
namespace pinfold::nri {
namespace {

using test::exclusive;
using test::RuntimeWorld;
using test::shared;

class NriUnpinned : public testing::Test {
 protected:
  /// Sets the age of all processes of a group.
  void set_age(const std::string& group, double seconds) {
    for (const pid_t process : world_.kernel.find(group)->processes) {
      world_.ages[process] = seconds;
    }
  }
  void expect(std::uint64_t containers, double seconds) {
    EXPECT_EQ(world_.follower->counters().found_unpinned, containers);
    EXPECT_DOUBLE_EQ(world_.follower->counters().unpinned_seconds, seconds);
  }
  RuntimeWorld world_;
};

TEST_F(NriUnpinned, AContainerThatSynchronizeFinds) {
  const PodSpec b = exclusive("b", 2);
  world_.run_unseen(b);
  set_age(world_.group(b), 7.5);
  world_.synchronize({b});
  expect(1, 7.5);
  world_.synchronize({b});
  expect(1, 7.5);
}

/// A kubelet with the policy static pinned the containers until the service took over.
TEST_F(NriUnpinned, NotAContainerThatAnotherHasPinned) {
  const PodSpec b = exclusive("b", 2);
  const PodSpec c = exclusive("c", 2);
  const PodSpec pool = shared("pool");
  world_.put(RuntimeWorld::id_of(b), "4-5");
  world_.put(RuntimeWorld::id_of(c), "0-1");  // CPU 0 is reserved here: it has to move
  world_.put(RuntimeWorld::id_of(pool), "2-3,6-7");
  for (const PodSpec& spec : {b, c, pool}) {
    world_.run_unseen(spec);
    set_age(world_.group(spec), 435);
  }
  world_.synchronize({b, c, pool});
  expect(0, 0);
  EXPECT_EQ(world_.cpus(b), "4-5") << "the rules allow it";
  EXPECT_EQ(world_.cpus(c), "6-7");
  EXPECT_EQ(world_.cpus(pool), "0-3");
}

TEST_F(NriUnpinned, AContainerThatRanOnExclusiveCpus) {
  const PodSpec b = exclusive("b", 2);
  world_.run(b);
  const PodSpec late = exclusive("late", 2);
  world_.put(RuntimeWorld::id_of(late), "2-3");
  world_.run_unseen(late);
  set_age(world_.group(late), 3);
  world_.synchronize({b, late});
  expect(1, 3);
  EXPECT_EQ(world_.cpus(late), "3-4");
}

TEST_F(NriUnpinned, AContainerThatIsFoundAtTheGate) {
  const PodSpec b = exclusive("b", 2);
  world_.make_group(b);
  set_age(world_.group(b), 2);
  ASSERT_TRUE(world_.send(api::Event::START_CONTAINER, b, "c").has_value());
  expect(1, 2);
  ASSERT_TRUE(world_.send(api::Event::POST_START_CONTAINER, b, "c").has_value());
  expect(1, 2);
}

TEST_F(NriUnpinned, AContainerThatNoEventExplains) {
  world_.run(exclusive("b", 2));
  const PodSpec unseen = shared("unseen");
  world_.run_unseen(unseen);
  for (const double age : {5.0, 15.0, 25.0}) {
    set_age(world_.group(unseen), age);
    set_age(world_.pause_group(unseen), age + 1);
    world_.follower->look(*world_.agent);
  }
  expect(2, 25 + 26);
  world_.follower->look(*world_.agent);
  expect(2, 25 + 26);
  // A container that is reported late is not counted again: only its time since then is added.
  const PodSpec late = exclusive("late", 1);
  world_.run_unseen(late);
  for (int i = 0; i < 3; ++i) world_.follower->look(*world_.agent);
  set_age(world_.group(late), 40);
  world_.run_sandbox(late);
  world_.make_group(late);
  expect(4, 25 + 26);
  set_age(world_.group(late), 40);
  ASSERT_TRUE(world_.send(api::Event::POST_START_CONTAINER, late, "c").has_value());
  expect(4, 25 + 26 + 40);
}

TEST_F(NriUnpinned, AContainerThatCannotBeConfined) {
  world_.run(exclusive("b", 2));
  const PodSpec unseen = shared("unseen");
  world_.run_unseen(unseen);
  set_age(world_.group(unseen), 3);
  world_.kernel.find(world_.group(unseen))->files.erase("cpuset.cpus");
  world_.follower->look(*world_.agent);
  expect(1, 3);
}

TEST(NriAge, IsThatOfAProcessOfThisMachine) {
  EXPECT_GT(age_of(1), 0);
  EXPECT_EQ(age_of(0), 0);
  EXPECT_EQ(age_of(1'900'000'000), 0);
}

}  // namespace
}  // namespace pinfold::nri
