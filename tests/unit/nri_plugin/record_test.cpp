#include <gtest/gtest.h>

#include "runtime_world.hpp"

/// The runtime's record of its containers.
namespace pinfold::nri {
namespace {

using test::exclusive;
using test::RuntimeWorld;
using test::shared;

/// No CPUs in an answer mean no change, so a container without exclusive CPUs gets the pool.
TEST(NriRecord, TheSharedPoolIsAlwaysAnExplicitCpuset) {
  RuntimeWorld world;
  const PodSpec a = shared("a");
  const PodSpec b = exclusive("b", 2);
  world.run_sandbox(a);
  ASSERT_TRUE(world.create(a).has_value());
  EXPECT_EQ(world.record[RuntimeWorld::id_of(a)], "0-7") << "all CPUs";
  ASSERT_TRUE(world.start(a).has_value());
  world.run(b);
  EXPECT_EQ(world.record[RuntimeWorld::id_of(a)], "0,3-7");
  const PodSpec other = shared("other");
  world.run(other);
  EXPECT_EQ(world.record[RuntimeWorld::id_of(other)], "0,3-7");
  world.stop(b);
  world.remove_sandbox(b);
  world.stop(other);  // an answer that carries updates
  EXPECT_EQ(world.record[RuntimeWorld::id_of(a)], "0-7") << "all CPUs again";
  api::UpdateContainerRequest request;
  *request.mutable_pod() = world.sandbox(a);
  *request.mutable_container() = world.container(a);
  const auto answer = world.follower->update(*world.agent, request).value();
  ASSERT_GE(answer.update_size(), 1);
  EXPECT_EQ(answer.update(0).linux().resources().cpu().cpus(), "0-7");
}

}  // namespace
}  // namespace pinfold::nri
