// The files from which a container reads its own CPUs and memory nodes.

#include "pinfold/agent/assigned_files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "agent_world.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::agent {
namespace {

namespace fs = std::filesystem;
using test::best_effort;
using test::guaranteed;
using test::must_admit;
using test::pod;
using test::World;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ContainerId kOwner{PodUid("x"), "a"};

AssignedValues all(const std::string& value) { return {value, value, value, value}; }

std::string contents(const fs::path& path) { return read_file(path).value_or("none"); }

class AssignedFilesTest : public testing::Test {
 protected:
  [[nodiscard]] fs::path root() const { return directory_ / "files"; }
  [[nodiscard]] fs::path own() const { return root() / "x" / "a"; }

  test::TempDir directory_;
};

TEST_F(AssignedFilesTest, HoldTheValues) {
  AssignedFiles files(root());
  EXPECT_TRUE(files.empty());
  ASSERT_EQ(files.publish(kOwner, {"0-3", "0", "", ""}), own().string());
  EXPECT_EQ(contents(own() / "cpus"), "0-3\n");
  EXPECT_EQ(contents(own() / "mems"), "0\n");
  EXPECT_EQ(contents(own() / "assigned.cpuset"), "");
  EXPECT_EQ(contents(own() / "assigned.memset"), "");
  ASSERT_TRUE(files.publish(kOwner, {"2-3", "1", "2-3", "1"}));
  EXPECT_EQ(contents(own() / "cpus"), "2-3\n");
  EXPECT_EQ(contents(own() / "assigned.cpuset"), "2-3\n");
  EXPECT_EQ(contents(own() / "assigned.memset"), "1\n");
  EXPECT_THAT(files.containers(), ElementsAre(kOwner));
}

/// Containers may run as any user.
TEST_F(AssignedFilesTest, CanBeReadByEverybody) {
  const mode_t before = ::umask(0077);
  AssignedFiles files(root());
  ASSERT_TRUE(files.publish(kOwner, all("1")));
  ::umask(before);
  EXPECT_EQ(fs::status(own()).permissions(), fs::perms(0755));
  EXPECT_EQ(fs::status(own() / "..data").permissions(), fs::perms(0755));
  EXPECT_EQ(fs::status(own() / "cpus").permissions(), fs::perms(0644));
}

TEST_F(AssignedFilesTest, AnEqualValueWritesNothing) {
  AssignedFiles files(root());
  ASSERT_TRUE(files.publish(kOwner, all("1")));
  const fs::path data = fs::read_symlink(own() / "..data");
  ASSERT_TRUE(files.publish(kOwner, all("1")));
  EXPECT_EQ(fs::read_symlink(own() / "..data"), data);
  AssignedFiles next(root());
  ASSERT_TRUE(next.publish(kOwner, all("1")));
  EXPECT_EQ(fs::read_symlink(own() / "..data"), data) << "after a restart";
  ASSERT_TRUE(next.publish(kOwner, all("2")));
  EXPECT_NE(fs::read_symlink(own() / "..data"), data);
}

/// Reads the four files of one ..data; empty if they are replaced twice in the meantime.
std::set<std::string> read_together(const fs::path& own) {
  const UniqueFd data(::open((own / "..data").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::set<std::string> values;
  for (const auto& [name, value] : assigned_fields()) {
    const UniqueFd fd(::openat(data.get(), name, O_RDONLY | O_CLOEXEC));
    const auto text = fd ? read_rest(fd.get(), name) : fail(ErrorCode::kNotFound, name);
    if (!text) return {};
    values.insert(*text);
  }
  return values;
}

TEST_F(AssignedFilesTest, AReaderSeesOneSetOfValues) {
  constexpr int kChanges = 300;
  AssignedFiles files(root());
  ASSERT_TRUE(files.publish(kOwner, all("0")));
  std::atomic<bool> is_done = false;
  std::atomic<int> reads = 0;
  std::atomic<int> mixed = 0;
  std::thread reader([&] {
    while (!is_done) {
      const auto values = read_together(own());
      if (values.empty()) continue;
      ++reads;
      if (values.size() != 1) ++mixed;
    }
  });
  int changes = 0;
  while (changes < kChanges || reads == 0) {
    ASSERT_TRUE(files.publish(kOwner, all(std::to_string(++changes))));
  }
  is_done = true;
  reader.join();
  EXPECT_EQ(mixed, 0) << "of " << reads;
}

/// A kill can leave the next directory half written and the link to it not yet renamed.
TEST_F(AssignedFilesTest, AreCompleteAfterAnInterruptedChange) {
  {
    AssignedFiles files(root());
    ASSERT_TRUE(files.publish(kOwner, all("1")));
  }
  fs::create_directory(own() / "..2");
  directory_.write("files/x/a/..2/cpus", "torn");
  fs::create_symlink("..2", own() / "..new");
  EXPECT_EQ(contents(own() / "cpus"), "1\n");
  AssignedFiles files(root());
  ASSERT_TRUE(files.publish(kOwner, all("2")));
  EXPECT_THAT(read_together(own()), ElementsAre("2\n"));
}

TEST_F(AssignedFilesTest, AreWrittenAgainIfTheyAreDamaged) {
  {
    AssignedFiles files(root());
    ASSERT_TRUE(files.publish(kOwner, all("1")));
  }
  fs::remove(own() / "..data");
  AssignedFiles files(root());
  EXPECT_THAT(files.containers(), ElementsAre(kOwner));
  ASSERT_TRUE(files.publish(kOwner, all("1")));
  EXPECT_THAT(read_together(own()), ElementsAre("1\n"));
}

TEST_F(AssignedFilesTest, AreRemoved) {
  AssignedFiles files(root());
  const ContainerId other{PodUid("x"), "b"};
  ASSERT_TRUE(files.publish(kOwner, all("1")));
  ASSERT_TRUE(files.publish(other, all("2")));
  ASSERT_TRUE(files.withdraw(kOwner));
  EXPECT_FALSE(fs::exists(own()));
  EXPECT_EQ(contents(root() / "x/b/cpus"), "2\n");
  ASSERT_TRUE(files.withdraw(kOwner)) << "once more";
  ASSERT_TRUE(files.withdraw(other));
  EXPECT_FALSE(fs::exists(root() / "x"));
  EXPECT_TRUE(files.empty());
}

TEST_F(AssignedFilesTest, NoNameLeadsOut) {
  AssignedFiles files(root());
  for (const ContainerId& id :
       {ContainerId{PodUid(".."), "a"}, ContainerId{PodUid("x"), ".."},
        ContainerId{PodUid("x/../.."), "a"}, ContainerId{PodUid("x"), "a/b"},
        ContainerId{PodUid(""), "a"}, ContainerId{PodUid("x"), ""}}) {
    const auto published = files.publish(id, all("1"));
    ASSERT_FALSE(published) << id.pod << "/" << id.name;
    EXPECT_THAT(published.error().message, HasSubstr("expected a name that is safe in a path"));
  }
  EXPECT_FALSE(fs::exists(root()));
}

TEST_F(AssignedFilesTest, NeedADirectory) {
  const auto published = AssignedFiles().publish(kOwner, all("1"));
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().code, ErrorCode::kUnsupported);
  directory_.write("files", "a file is in the way");
  const auto blocked = AssignedFiles(root()).publish(kOwner, all("1"));
  ASSERT_FALSE(blocked);
  EXPECT_EQ(blocked.error().code, ErrorCode::kIo);
  EXPECT_THAT(blocked.error().message, HasSubstr(root().string()));
}

/// A link that replaces a container's directory points elsewhere.
TEST_F(AssignedFilesTest, LinksAreNotTakenForContainers) {
  fs::create_directories(root() / "x");
  fs::create_directory_symlink("/", root() / "x" / "a");
  EXPECT_TRUE(AssignedFiles(root()).empty());
}

class AssignedAgentTest : public testing::TestWithParam<enforce::CgroupVersion> {
 protected:
  [[nodiscard]] NodeAgent open(CpuSet offline = {}) {
    AgentOptions options;
    options.assigned_dir = world_.state / "assigned";
    return world_.try_open({}, std::move(options), std::move(offline)).value();
  }
  [[nodiscard]] std::string cpus(const std::string& owner) const {
    return contents(world_.state / ("assigned/" + owner + "/cpus"));
  }

  World world_{GetParam()};
};

TEST_P(AssignedAgentTest, FollowEveryChange) {
  NodeAgent agent = open();
  must_admit(agent, pod("s", {best_effort("c")}));
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  ASSERT_TRUE(agent.publish_assigned({PodUid("s"), "c"}));
  ASSERT_EQ(agent.publish_assigned(kOwner), world_.state / "assigned/x/a");
  EXPECT_EQ(cpus("x/a"), "1-2\n");
  EXPECT_EQ(cpus("s/c"), "0,3-7\n");
  EXPECT_EQ(contents(world_.state / "assigned/x/a/assigned.cpuset"), "1-2\n");
  EXPECT_EQ(contents(world_.state / "assigned/s/c/assigned.cpuset"), "");
  EXPECT_EQ(contents(world_.state / "assigned/s/c/mems"), "0-1\n");

  must_admit(agent, pod("y", {guaranteed("a", 2)}));
  EXPECT_EQ(cpus("s/c"), world_.cpus("pods/c") + "\n") << "a later admission";
  const auto resized = agent.resize({kOwner, Quantity::of(3, Quantity::Format::kDecimalSi)});
  ASSERT_TRUE(resized && !resized->refused);
  EXPECT_EQ(cpus("x/a"), world_.cpus("podx/a") + "\n") << "a resize";
  EXPECT_EQ(cpus("s/c"), world_.cpus("pods/c") + "\n");

  NodeState next = test::with_cpus(agent.state().node, {{"x", {5, 6, 7}}, {"y", {3, 4}}});
  next.cpu.baselines = {};
  ASSERT_TRUE(agent.reconfigure(std::nullopt, std::move(next), RunningProcesses::kRefuse));
  EXPECT_EQ(cpus("x/a"), "5-7\n") << "a move";

  ASSERT_TRUE(agent.remove_pod(PodUid("x"), RunningProcesses::kRefuse));
  EXPECT_EQ(cpus("x/a"), "none");
  EXPECT_EQ(cpus("s/c"), world_.cpus("pods/c") + "\n");
}

TEST_P(AssignedAgentTest, FollowAfterARestart) {
  {
    NodeAgent agent = open();
    must_admit(agent, pod("s", {best_effort("c")}));
    ASSERT_TRUE(agent.publish_assigned({PodUid("s"), "c"}));
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
    ASSERT_TRUE(agent.publish_assigned(kOwner));
  }
  {
    NodeAgent agent = world_.open();  // publishes nothing, like an earlier version
    ASSERT_TRUE(agent.remove_pod(PodUid("x"), RunningProcesses::kRefuse));
  }
  EXPECT_EQ(cpus("s/c"), "0,3-7\n");
  NodeAgent agent = open();
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_EQ(cpus("s/c"), "0-7\n");
  EXPECT_EQ(cpus("x/a"), "none");
}

TEST_P(AssignedAgentTest, AContainerWithoutAGroupHasNone) {
  NodeAgent agent = open();
  EXPECT_EQ(agent.publish_assigned(kOwner).error().code, ErrorCode::kNotFound);
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  ASSERT_TRUE(agent.remove_container(kOwner, RunningProcesses::kRefuse));
  EXPECT_EQ(agent.publish_assigned(kOwner).error().code, ErrorCode::kNotFound);
}

TEST_P(AssignedAgentTest, AFailureToWriteIsLoggedAndTriedAgain) {
  std::vector<std::string> warnings;
  AgentOptions options;
  options.assigned_dir = world_.state / "assigned";
  options.log = [&](LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning) warnings.emplace_back(message);
  };
  NodeAgent agent = world_.try_open({}, std::move(options)).value();
  must_admit(agent, pod("s", {best_effort("c")}));
  ASSERT_TRUE(agent.publish_assigned({PodUid("s"), "c"}));
  fs::rename(world_.state / "assigned", world_.state / "away");
  world_.state.write("assigned", "a file is in the way");
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  EXPECT_THAT(warnings, testing::Contains(HasSubstr("files of container 'c' of pod 's'")));
  fs::remove(world_.state / "assigned");
  fs::rename(world_.state / "away", world_.state / "assigned");
  ASSERT_TRUE(reconcile(agent).has_value());
  EXPECT_EQ(cpus("s/c"), "0,3-7\n");
}

INSTANTIATE_TEST_SUITE_P(All, AssignedAgentTest,
                         testing::Values(enforce::CgroupVersion::kV1, enforce::CgroupVersion::kV2));

}  // namespace
}  // namespace pinfold::agent
