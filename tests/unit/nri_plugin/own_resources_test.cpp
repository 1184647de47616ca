#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "pinfold/base/read_file.hpp"
#include "runtime_world.hpp"

/// The variables and files from which a container learns its own CPUs and memory nodes.
namespace pinfold::nri {
namespace {

using settings::AssignedFor;
using test::exclusive;
using test::RuntimeWorld;
using test::shared;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class NriOwnResources : public testing::Test {
 protected:
  /// Creates a container and returns the variables that the answer sets.
  [[nodiscard]] std::map<std::string, std::string> create(const PodSpec& spec) {
    world_.run_sandbox(spec);
    const auto answer = world_.create(spec);
    std::map<std::string, std::string> env;
    if (!answer) {
      ADD_FAILURE() << answer.error().message;
      return env;
    }
    for (const api::KeyValue& one : answer->adjust().env()) env[one.key()] = one.value();
    mount_ = api::Mount();
    EXPECT_LE(answer->adjust().mounts_size(), 1);
    if (answer->adjust().mounts_size() == 1) mount_ = answer->adjust().mounts(0);
    EXPECT_EQ(env.empty(), mount_.source().empty());
    return env;
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return read_file(mount_.source() + "/" + name).value_or("none");
  }

  RuntimeWorld world_{enforce::CgroupVersion::kV2};
  api::Mount mount_;
};

TEST_F(NriOwnResources, AreToldToWhoAsks) {
  EXPECT_THAT(create(exclusive("a", 2)), IsEmpty());
  world_.asks[PodUid("b")] = "{c: {W: assigned.cpuset, M: assigned.memset}}";
  EXPECT_THAT(create(exclusive("b", 2)),
              ElementsAre(Pair("M", ""), Pair("PINFOLD_CPUS", "3-4"), Pair("PINFOLD_MEMS", "0-1"),
                          Pair("W", "3-4")));
  EXPECT_EQ(mount_.destination(), "/run/pinfold/self");
  EXPECT_EQ(mount_.type(), "bind");
  EXPECT_THAT(mount_.options(), testing::Contains("ro"));
  EXPECT_EQ(file("cpus"), "3-4\n");
  EXPECT_EQ(file("assigned.cpuset"), "3-4\n");
}

TEST_F(NriOwnResources, FollowLaterAdmissionsAndResizes) {
  world_.asks[PodUid("a")] = "true";
  EXPECT_THAT(create(shared("a")), ElementsAre(Pair("PINFOLD_CPUS", "0-7"), testing::_));
  EXPECT_EQ(file("assigned.cpuset"), "");
  ASSERT_TRUE(world_.start(shared("a")));
  const PodSpec b = exclusive("b", 2);
  world_.run(b);
  EXPECT_EQ(file("cpus"), "0,3-7\n");
  ASSERT_TRUE(world_.resize_by_cri(b, 3));
  EXPECT_EQ(file("cpus"), world_.cpus(shared("a")) + "\n");
  world_.stop(b);
  EXPECT_EQ(file("cpus"), "0,4-7\n") << "it may start again";
  world_.remove_sandbox(b);
  EXPECT_EQ(file("cpus"), "0-7\n");
}

TEST_F(NriOwnResources, TheSettingDecides) {
  world_.told = AssignedFor::kAny;
  world_.restart();
  world_.synchronize({});
  world_.asks[PodUid("b")] = "false";
  EXPECT_EQ(create(exclusive("a", 2)).size(), 2U);
  EXPECT_THAT(create(exclusive("b", 2)), IsEmpty());
  world_.told = AssignedFor::kNone;
  world_.restart();
  world_.synchronize({});
  world_.asks[PodUid("c")] = "true";
  world_.asks[PodUid("d")] = "{c: not even valid}";
  EXPECT_THAT(create(exclusive("c", 1)), IsEmpty());
  EXPECT_THAT(create(shared("d")), IsEmpty());
}

/// Its author would not notice the missing variable.
TEST_F(NriOwnResources, AWrongAnnotationRefusesTheContainerAndReleasesItsCpus) {
  const PodSpec spec = exclusive("a", 2);
  world_.asks[spec.uid] = "{c: {W: assigned.cpu}}";
  world_.run_sandbox(spec);
  const auto answer = world_.create(spec);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message,
              HasSubstr("annotation pinfold.io/assigned: c.W: 'assigned.cpu': expected"));
  EXPECT_TRUE(world_.agent->state().node.cpu.assignments.empty());
}

}  // namespace
}  // namespace pinfold::nri
