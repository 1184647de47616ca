#include "pinfold/enforce/cgroups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "model_kernel.hpp"
#include "pinfold/enforce/foreign.hpp"
#include "pinfold/enforce/processes.hpp"

namespace pinfold::enforce {
namespace {

using test::ModelKernel;
using testing::HasSubstr;

class CgroupsTest : public testing::TestWithParam<CgroupVersion> {
 protected:
  CgroupsTest() : kernel_(GetParam(), CpuSet::range(0, 7), CpuSet{0, 1}) {}

  [[nodiscard]] bool is_v2() const { return GetParam() == CgroupVersion::kV2; }
  void must(const Step& step) {
    const auto done = cgroups_.apply(step);
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  void make_groups() {
    must({Step::Kind::kCreate, {PodUid("p"), ""}, {}, "", ""});
    must({Step::Kind::kCpus, {PodUid("p"), ""}, {0, 1, 2, 3}, "", ""});
    must({Step::Kind::kMems, {PodUid("p"), ""}, {}, "", ""});
    must({Step::Kind::kCreate, {PodUid("p"), "c"}, {}, "", ""});
    must({Step::Kind::kCpus, {PodUid("p"), "c"}, {2, 3}, "", ""});
    must({Step::Kind::kMems, {PodUid("p"), "c"}, {1}, "", ""});
  }

  ModelKernel kernel_;
  Cgroups cgroups_ = kernel_.cgroups();
  Group group_ = cgroups_.group({PodUid("p"), "c"}).value();
};

/// A const Cgroups only gives access to readers, which cannot write.
template <class Got>
constexpr bool kIsReader = std::is_same_v<Got, GroupReader>;
using ToRead = const Cgroups&;
static_assert(kIsReader<decltype(std::declval<ToRead>().root_group())>);
static_assert(kIsReader<std::decay_t<decltype(std::declval<ToRead>().group(GroupName()).value())>>);
static_assert(
    kIsReader<std::decay_t<decltype(std::declval<ToRead>().open_elsewhere("/a").value())>>);
static_assert(!std::is_convertible_v<GroupReader, Group>);
static_assert(!std::is_invocable_v<decltype(kill_foreign), ToRead, std::string>);

TEST_P(CgroupsTest, HasAMode) { EXPECT_EQ(cgroups_.mode(), is_v2() ? "v2" : "v1"); }

TEST_P(CgroupsTest, AppliesThePlanOfAContainer) {
  make_groups();
  EXPECT_EQ(effective_cpus(group_).value(), (CpuSet{2, 3}));
  EXPECT_EQ(effective_mems(group_).value(), CpuSet{1});
  EXPECT_EQ(cgroups_.machine_cpus().value(), CpuSet::range(0, 7));
}

TEST_P(CgroupsTest, ObservesWhatItApplied) {
  make_groups();
  const Layout desired = {{{PodUid("p"), ""}, {{0, 1, 2, 3}, {}, {}, Isolation::kHost}},
                          {{PodUid("p"), "c"}, {{2, 3}, {1}, {}, Isolation::kContainer}}};
  EXPECT_EQ(cgroups_.observe(desired).value(), desired);
}

/// The kernel rejects an empty set for a group with processes that has a set.
TEST_P(CgroupsTest, AGroupWithProcessesGetsACopyOfItsParentsSets) {
  make_groups();
  kernel_.find("podp/c")->processes.insert(4711);
  for (const char* const container : {"", "c"}) {
    must({Step::Kind::kCpus, {PodUid("p"), container}, {}, "", ""});
    must({Step::Kind::kMems, {PodUid("p"), container}, {}, "", ""});
  }
  EXPECT_EQ(effective_cpus(group_).value(), CpuSet::range(0, 7));
  EXPECT_EQ(effective_mems(group_).value(), (CpuSet{0, 1}));
  const Layout desired = {{{PodUid("p"), ""}, {{}, {}, {}, Isolation::kHost}},
                          {{PodUid("p"), "c"}, {{}, {}, {}, Isolation::kHost}}};
  EXPECT_EQ(cgroups_.observe(desired).value(), desired);
}

/// Calls a function before the n-th read.
class BeforeReadFs final : public CgroupFs {
 public:
  BeforeReadFs(std::unique_ptr<CgroupFs> fs, int& reads_left, std::function<void()> act)
      : fs_(std::move(fs)), reads_left_(reads_left), act_(std::move(act)) {}
  Result<void> make_group(const std::string& group) override { return fs_->make_group(group); }
  Result<void> remove_group(const std::string& group) override { return fs_->remove_group(group); }
  Result<std::vector<std::string>> children(const std::string& group) override {
    count();
    return fs_->children(group);
  }
  Result<std::string> read(const std::string& group, const std::string& file) override {
    count();
    return fs_->read(group, file);
  }
  Result<void> write(const std::string& group, const std::string& file,
                     std::string_view value) override {
    return fs_->write(group, file, value);
  }

 private:
  void count() {
    if (reads_left_-- == 0) act_();
  }
  std::unique_ptr<CgroupFs> fs_;
  int& reads_left_;
  std::function<void()> act_;
};

TEST_P(CgroupsTest, ObservesWhileAnotherProcessRemovesGroups) {
  make_groups();
  int reads_left = -1;
  bool is_removed = false;
  std::vector<Hierarchy> hierarchies;
  hierarchies.push_back({{GetParam(), "/model", {Controller::kCpuset}},
                         std::make_unique<BeforeReadFs>(kernel_.fs(), reads_left, [&] {
                           kernel_.root.children.erase("podp");
                           is_removed = true;
                         })});
  const Cgroups cgroups = Cgroups::make(std::move(hierarchies), KernelFacts{}).value();
  const Layout desired = cgroups_.observe({}).value();
  for (int at = 0; at == 0 || is_removed; ++at) {
    kernel_.root.children.clear();
    make_groups();
    reads_left = at;
    is_removed = false;
    const auto observed = cgroups.observe(desired);
    EXPECT_TRUE(observed.has_value()) << at << ": " << observed.error().message;
    reads_left = -1;
  }
}

TEST_P(CgroupsTest, TreatsAGroupWithDriftAsShared) {
  make_groups();
  const Layout desired = {{{PodUid("p"), "c"}, {{2}, {}, {}, Isolation::kContainer}}};
  EXPECT_EQ(cgroups_.observe(desired).value().at({PodUid("p"), "c"}).isolation, Isolation::kHost);
}

TEST_P(CgroupsTest, IgnoresOtherGroups) {
  auto fs = kernel_.fs();
  ASSERT_TRUE(fs->make_group("system.slice").has_value());
  ASSERT_TRUE(fs->make_group("pod").has_value());
  EXPECT_EQ(cgroups_.observe({}).value(), Layout{});
}

TEST_P(CgroupsTest, DetectsAWriteThatTheKernelChanged) {
  make_groups();
  kernel_.distort = [](const std::string&, const std::string&) { return "2"; };
  const auto done = cgroups_.apply({Step::Kind::kCpus, {PodUid("p"), "c"}, {2, 3}, "", ""});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(
      done.error().message,
      "podp/c: cpuset.cpus := 2-3: the kernel has '2' in 'podp/c/cpuset.cpus', expected '2-3'");
}

TEST_P(CgroupsTest, DetectsAValueThatTheKernelChanged) {
  make_groups();
  kernel_.distort = [](const std::string&, const std::string&) { return "7"; };
  const std::string file = is_v2() ? "cpu.weight" : "cpu.shares";
  const auto done = cgroups_.apply({Step::Kind::kValue, {PodUid("p"), "c"}, {}, file, "50"});
  ASSERT_FALSE(done.has_value());
  EXPECT_THAT(done.error().message, HasSubstr("the kernel has '7'"));
}

TEST_P(CgroupsTest, NamesTheStepThatFailed) {
  make_groups();
  const auto done = cgroups_.apply({Step::Kind::kCpus, {PodUid("p"), "c"}, {90}, "", ""});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().sys_errno, ERANGE);
  EXPECT_THAT(done.error().message, HasSubstr("podp/c: cpuset.cpus := 90: write podp/c"));
}

TEST_P(CgroupsTest, VerifiesByTheEffectiveCpus) {
  make_groups();
  const auto done = cgroups_.apply({Step::Kind::kVerify, {PodUid("p"), "c"}, {2, 3, 4}, "", ""});
  ASSERT_FALSE(done.has_value());
  EXPECT_THAT(done.error().message, HasSubstr("'podp/c' runs on '2-3', expected '2-4'"));
}

TEST_P(CgroupsTest, DoesNotRemoveAGroupWithProcesses) {
  make_groups();
  ASSERT_TRUE(attach(group_, 4711).has_value());
  EXPECT_EQ(processes(group_).value(), std::vector<pid_t>{4711});
  const auto done = cgroups_.apply({Step::Kind::kRemove, {PodUid("p"), "c"}, {}, "", ""});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::kBusy);
  EXPECT_THAT(done.error().message, HasSubstr("processes still run in it: 4711"));
}

TEST_P(CgroupsTest, RejectsInvalidNames) {
  for (const GroupName& name :
       {GroupName(PodUid("../x")), GroupName(PodUid("")), GroupName(PodUid("a/b")),
        GroupName{PodUid("p"), "../.."}, GroupName{PodUid("p"), ".."},
        GroupName{PodUid("p"), "a/b"}, GroupName(PodUid("a b")),
        GroupName(PodUid(std::string("a\0b", 3)))}) {
    const auto before = kernel_.log;
    const auto done = cgroups_.apply({Step::Kind::kCreate, name, {}, "", ""});
    ASSERT_FALSE(done.has_value()) << name;
    EXPECT_EQ(done.error().code, ErrorCode::kInvalidArgument) << name;
    EXPECT_EQ(kernel_.log, before) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, CgroupsTest,
                         testing::Values(CgroupVersion::kV1, CgroupVersion::kV2),
                         [](const auto& version) {
                           return version.param == CgroupVersion::kV1 ? "V1" : "V2";
                         });

TEST(CgroupsV2, DetectsThatTheParentHasNoneOfTheCpus) {
  ModelKernel kernel(CgroupVersion::kV2, CpuSet::range(0, 7), CpuSet{0});
  Cgroups cgroups = kernel.cgroups();
  ASSERT_TRUE(cgroups.apply({Step::Kind::kCreate, {PodUid("p"), ""}, {}, "", ""}).has_value());
  ASSERT_TRUE(cgroups.apply({Step::Kind::kCpus, {PodUid("p"), ""}, {0, 1}, "", ""}).has_value());
  ASSERT_TRUE(cgroups.apply({Step::Kind::kCreate, {PodUid("p"), "c"}, {}, "", ""}).has_value());
  const auto done = cgroups.apply({Step::Kind::kCpus, {PodUid("p"), "c"}, {4}, "", ""});
  ASSERT_FALSE(done.has_value());
  EXPECT_THAT(done.error().message,
              HasSubstr("'podp/c' is effectively on '0-1' although its cpuset.cpus is '4'"));
}

TEST(CgroupsV2, EnablesControllersOnceAndOnlyBelowItsRoot) {
  ModelKernel kernel(CgroupVersion::kV2, CpuSet::range(0, 7), CpuSet{0});
  (void)kernel.cgroups();
  const auto log = kernel.log;
  EXPECT_THAT(log, testing::ElementsAre("write  cgroup.subtree_control +cpuset",
                                        "write  cgroup.subtree_control +cpu",
                                        "write  cgroup.subtree_control +memory",
                                        "write  cgroup.subtree_control +hugetlb"));
  (void)kernel.cgroups();
  EXPECT_EQ(kernel.log, log);
}

/// A root with processes, where controllers cannot be enabled.
class BusyRoot final : public CgroupFs {
 public:
  Result<void> make_group(const std::string&) override { return {}; }
  Result<void> remove_group(const std::string&) override { return {}; }
  Result<std::vector<std::string>> children(const std::string&) override {
    return std::vector<std::string>{};
  }
  Result<std::string> read(const std::string&, const std::string&) override { return ""; }
  Result<void> write(const std::string&, const std::string&, std::string_view) override {
    return fail_errno(EBUSY, "write");
  }
};

TEST(CgroupsV2, ExplainsHowToFixARootWithProcesses) {
  std::vector<Hierarchy> hierarchies;
  hierarchies.push_back({{CgroupVersion::kV2, "/sys/fs/cgroup/x", {Controller::kCpuset}},
                         std::make_unique<BusyRoot>()});
  const auto cgroups = Cgroups::make(std::move(hierarchies), {});
  ASSERT_FALSE(cgroups.has_value());
  EXPECT_THAT(cgroups.error().message, HasSubstr("'/sys/fs/cgroup/x' itself has processes"));
}

TEST(CgroupsOpen, RejectsADirectoryThatIsNoCgroup) {
  const auto none = Cgroups::open("/sys/fs/no-such-directory");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  const auto proc = Cgroups::open("/proc");
  ASSERT_FALSE(proc.has_value());
  EXPECT_EQ(proc.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(proc.error().message, HasSubstr("'/proc' is not in a control group file system"));
}

}  // namespace
}  // namespace pinfold::enforce
