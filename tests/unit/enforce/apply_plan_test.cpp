#include "pinfold/enforce/apply_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "model_kernel.hpp"
#include "pinfold/enforce/foreign.hpp"
#include "pinfold/enforce/nested.hpp"
#include "pinfold/enforce/processes.hpp"

namespace pinfold::enforce {
namespace {

using test::ModelKernel;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The shared container pods/c and its pod are on CPUs 0-7; then the exclusive container podx/a
/// with CPUs 2-3 is added.
class ApplyPlanTest : public testing::TestWithParam<CgroupVersion> {
 protected:
  ApplyPlanTest() {
    before_[{PodUid("s"), "c"}] = {CpuSet::range(0, 7), {}, {}, Isolation::kHost};
    before_[GroupName(PodUid("s"))] = before_[{PodUid("s"), "c"}];
    after_ = before_;
    for (auto& [name, group] : after_) group.cpus -= CpuSet{2, 3};
    after_[{PodUid("x"), "a"}] = {{2, 3}, {}, {{weight(), "50"}}, Isolation::kContainer};
    after_[GroupName(PodUid("x"))] = {{2, 3}, {}, {}, Isolation::kHost};
    const PlanResult made = change({}, before_);
    EXPECT_THAT(made.failed, IsEmpty());
  }

  [[nodiscard]] static bool is_v1() { return GetParam() == CgroupVersion::kV1; }
  [[nodiscard]] static std::string weight() { return is_v1() ? "cpu.shares" : "cpu.weight"; }
  PlanResult change(const Layout& before, const Layout& after) {
    const Plan steps = plan(before, after, kernel_.cpus).value();
    return apply_plan(cgroups_, steps, before, after, kernel_.cpus);
  }
  PlanResult admit() { return change(before_, after_); }
  [[nodiscard]] std::string cpus(const std::string& group) {
    ModelKernel::Dir* const dir = kernel_.find(group);
    return dir == nullptr ? "gone" : kernel_.effective(*dir, "cpuset.cpus").to_string();
  }
  /// Makes a group below a container, as a container runtime inside it does.
  void nest(const std::string& group, const std::string& own) {
    auto fs = kernel_.fs();
    const std::string parent = group.substr(0, group.rfind('/'));
    if (!is_v1()) {
      EXPECT_TRUE(fs->write(parent, "cgroup.subtree_control", "+cpuset").has_value());
    }
    EXPECT_TRUE(fs->make_group(group).has_value());
    EXPECT_TRUE(fs->write(group, "cpuset.mems", "0-1").has_value());
    EXPECT_TRUE(fs->write(group, "cpuset.cpus", own).has_value());
  }
  [[nodiscard]] static std::vector<std::string> messages(const PlanResult& result) {
    std::vector<std::string> all;
    for (const FailedStep& failed : result.failed) all.push_back(failed.error.message);
    return all;
  }

  ModelKernel kernel_{GetParam(), CpuSet::range(0, 7), CpuSet{0, 1}};
  Cgroups cgroups_ = kernel_.cgroups();
  Layout before_;
  Layout after_;
};

TEST_P(ApplyPlanTest, AppliesEverything) {
  EXPECT_THAT(messages(admit()), IsEmpty());
  EXPECT_EQ(cpus("podx/a"), "2-3");
  EXPECT_EQ(cpus("pods/c"), "0-1,4-7");
  EXPECT_EQ(cgroups_.observe(after_).value(), after_);
}

TEST_P(ApplyPlanTest, HoldsBackWhatAContainerDidNotLeave) {
  kernel_.fault = [](const char* what, const std::string& group, const std::string& file) {
    return group.starts_with("pods") && file == "cpuset.cpus" && what == std::string("write") ? EIO
                                                                                              : 0;
  };
  const PlanResult result = admit();
  EXPECT_EQ(cpus("pods/c"), "0-7");
  ASSERT_EQ(cpus("podx/a"), "0-1,4-7") << "the CPUs on which it was made";
  EXPECT_THAT(messages(result), testing::Contains(testing::AllOf(
                                    testing::StartsWith("podx/a: cpuset.cpus := 2-3: held back: "),
                                    HasSubstr("'pods/c' still has CPUs 2-3: "
                                              "pods/c: cpuset.cpus := 0-1,4-7: write"))));
  kernel_.fault = nullptr;
  Layout observed = cgroups_.observe(after_).value();
  EXPECT_THAT(change(observed, after_).failed, IsEmpty());
  EXPECT_EQ(cpus("podx/a"), "2-3");
}

/// The known layout no longer shows its CPUs as exclusive, and the kernel reports the group as
/// busy.
TEST_P(ApplyPlanTest, KeepsOthersOffAGroupThatCannotBeRemoved) {
  EXPECT_THAT(messages(admit()), IsEmpty());
  kernel_.find("podx/a")->processes = {7};
  for (const bool is_listed : {true, false}) {
    Layout known = after_;
    known[{PodUid("x"), "a"}].isolation = Isolation::kHost;
    if (!is_listed) known.erase({PodUid("x"), "a"});
    const PlanResult result = change(known, before_);
    EXPECT_EQ(cpus("pods/c"), "0-1,4-7") << is_listed;
    EXPECT_THAT(messages(result), testing::Contains(HasSubstr("' still has CPUs 2-3")))
        << is_listed;
  }
  kernel_.find("podx/a")->processes.clear();
  EXPECT_THAT(change(cgroups_.observe(before_).value(), before_).failed, IsEmpty());
  EXPECT_EQ(cpus("pods/c"), "0-7");
}

/// An idle group accepts no weight.
TEST_P(ApplyPlanTest, SaysWhyAWeightIsRefused) {
  EXPECT_THAT(messages(admit()), IsEmpty());
  ASSERT_TRUE(kernel_.fs()->write("podx/a", "cpu.idle", "1").has_value());
  const Layout idle = cgroups_.observe(after_).value();
  EXPECT_THAT(messages(change(idle, after_)),
              ElementsAre("podx/a: cpu.idle is 1, so " + weight() +
                          " cannot be written: echo 0 > '/model/podx/a/cpu.idle'"));
}

TEST_P(ApplyPlanTest, RemovesTheGroupsThatAContainerMade) {
  nest("pods/c/docker", "0-7");
  nest("pods/c/docker/c1", "2-3");
  kernel_.find("pods/c/docker/c1")->processes = {7};
  PlanResult result = change(before_, {});
  EXPECT_THAT(messages(result), ElementsAre("pods/c: remove: processes still run in it: 7",
                                            "pods: remove: held back: 'pods/c' still exists"));
  kernel_.find("pods/c/docker/c1")->processes.clear();
  EXPECT_THAT(messages(change(before_, {})), IsEmpty());
  EXPECT_EQ(cpus("pods"), "gone");
}

TEST_P(ApplyPlanTest, CountsTheProcessesBelowAContainer) {
  nest("pods/c/docker", "0-7");
  kernel_.find("pods/c/docker")->processes = {9};
  kernel_.find("pods/c")->processes = {7};
  EXPECT_THAT(processes(cgroups_.group({PodUid("s"), "c"}).value()).value(), ElementsAre(7, 9));
}

INSTANTIATE_TEST_SUITE_P(Versions, ApplyPlanTest,
                         testing::Values(CgroupVersion::kV1, CgroupVersion::kV2),
                         [](const auto& version) {
                           return version.param == CgroupVersion::kV1 ? "V1" : "V2";
                         });

class ApplyPlanV1 : public ApplyPlanTest {};

/// The deepest groups shrink first. "copy" has the container's CPUs, and so has "all", which would
/// have none left.
TEST_P(ApplyPlanV1, ReducesTheGroupsBelowAContainer) {
  nest("pods/c/copy", "0-7");
  nest("pods/c/copy/some", "1-2");
  nest("pods/c/copy/all", "2-3");
  nest("pods/c/other", "5");
  EXPECT_THAT(messages(admit()), IsEmpty());
  EXPECT_EQ(cpus("pods/c"), "0-1,4-7");
  EXPECT_EQ(cpus("pods/c/copy"), "0-1,4-7");
  EXPECT_EQ(cpus("pods/c/copy/some"), "1");
  EXPECT_EQ(cpus("pods/c/copy/all"), "0-1,4-7");
  EXPECT_EQ(cpus("pods/c/other"), "5");
  EXPECT_EQ(cpus("podx/a"), "2-3");
  EXPECT_THAT(messages(change(after_, before_)), IsEmpty());
  EXPECT_EQ(cpus("pods/c/copy"), "0-7") << "what has the container's CPUs follows it";
  EXPECT_EQ(cpus("pods/c/copy/all"), "0-7");
  EXPECT_EQ(cpus("pods/c/copy/some"), "1") << "its owner's choice";
}

/// The new CPUs include none of its old ones, so the groups below it must move at the same time.
TEST_P(ApplyPlanV1, MovesTheGroupsBelowAContainer) {
  nest("pods/c/docker", "4-5");
  Layout there = before_;
  for (auto& [name, group] : there) group.cpus = CpuSet{0, 1};
  EXPECT_THAT(messages(change(before_, there)), IsEmpty());
  EXPECT_EQ(cpus("pods/c/docker"), "0-1");
  Layout back = there;
  for (auto& [name, group] : back) group.cpus = CpuSet{6, 7};
  EXPECT_THAT(messages(change(there, back)), IsEmpty());
  EXPECT_EQ(cpus("pods/c/docker"), "6-7");
  EXPECT_EQ(cpus("pods/c"), "6-7");
}

TEST_P(ApplyPlanV1, ReducesMemoryNodesBelowAContainer) {
  nest("pods/c/docker", "0-7");
  Layout one_node = before_;
  for (auto& [name, group] : one_node) group.mems = NodeSet{1};
  EXPECT_THAT(messages(change(before_, one_node)), IsEmpty());
  EXPECT_EQ(kernel_.find("pods/c/docker")->files["cpuset.mems"], "1");
}

TEST_P(ApplyPlanV1, NamesTheGroupBelowThatKeepsItsCpus) {
  nest("pods/c/docker", "0-7");
  nest("pods/c/docker/c1", "2-3");
  kernel_.fault = [](const char* what, const std::string& group, const std::string&) {
    return group == "pods/c/docker/c1" && what == std::string("write") ? EPERM : 0;
  };
  const PlanResult result = admit();
  EXPECT_THAT(messages(result),
              testing::Contains(testing::AllOf(
                  testing::StartsWith("pods/c: cpuset.cpus := 0-1,4-7: "),
                  HasSubstr("the group '/model/pods/c/docker/c1' below it keeps 2-3: "))));
  EXPECT_NE(cpus("podx/a"), "2-3");
}

TEST_P(ApplyPlanV1, ReducesWhatIsBelowAForeignGroupToo) {
  kernel_.make_path("other");
  nest("other/a", "0-7");
  nest("other/a/b", "2-3");
  const auto found = find_foreign(cgroups_).value();
  ASSERT_EQ(found.size(), 1U);
  const Step step{Step::Kind::kConfine, {}, CpuSet{0, 1}, "", "", found.front().directory};
  ASSERT_TRUE(cgroups_.apply(step).has_value());
  EXPECT_EQ(cpus("other"), "0-1");
  EXPECT_EQ(cpus("other/a/b"), "0-1");
}

TEST_P(ApplyPlanV1, SaysWhyAMemoryLimitIsRefused) {
  EXPECT_THAT(messages(admit()), IsEmpty());
  kernel_.find("podx/a")->files["memory.usage_in_bytes"] = "8192";
  kernel_.fault = [](const char* what, const std::string&, const std::string& file) {
    return file == "memory.limit_in_bytes" && what == std::string("write") ? EBUSY : 0;
  };
  Layout limited = after_;
  limited[{PodUid("x"), "a"}].values["memory.limit_in_bytes"] = "4096";
  EXPECT_THAT(messages(change(after_, limited)),
              ElementsAre("podx/a: '/model/podx/a' uses 8192 bytes, so memory.limit_in_bytes "
                          "cannot become 4096: the kernel cannot reclaim enough of them"));
}

INSTANTIATE_TEST_SUITE_P(Versions, ApplyPlanV1, testing::Values(CgroupVersion::kV1));

class ApplyPlanV2 : public ApplyPlanTest {};

TEST_P(ApplyPlanV2, NamesThePartitionBelowThatKeepsItsCpus) {
  nest("pods/c/inner", "2-3");
  kernel_.find("pods/c/inner")->files["cpuset.cpus.partition"] = "root";
  // As in the kernel, the CPUs of a partition do not depend on the groups above it.
  for (ModelKernel::Dir* dir = kernel_.find("pods/c/inner"); dir != nullptr; dir = dir->parent) {
    dir->files["cpuset.cpus.exclusive"] = "2-3";
  }
  kernel_.find("pods/c/inner")->is_exclusive = true;
  ASSERT_EQ(cpus("pods/c/inner"), "2-3");
  EXPECT_THAT(messages(admit()),
              testing::Contains(HasSubstr("the partition '/model/pods/c/inner' below it keeps 2-3: "
                                          "echo member > '/model/pods/c/inner/"
                                          "cpuset.cpus.partition'")));
}

/// The container's pod still confines it.
TEST_P(ApplyPlanV2, GoesOnIfThePodKeepsAContainerOffTheCpus) {
  kernel_.fault = [](const char* what, const std::string& group, const std::string& file) {
    return group == "pods/c" && file == "cpuset.cpus" && what == std::string("write") ? EIO : 0;
  };
  EXPECT_THAT(messages(admit()), ElementsAre(testing::StartsWith("pods/c: cpuset.cpus")));
  EXPECT_EQ(cpus("podx/a"), "2-3");
  EXPECT_EQ(cpus("pods/c"), "0-1,4-7");
}

INSTANTIATE_TEST_SUITE_P(Versions, ApplyPlanV2, testing::Values(CgroupVersion::kV2));

/// A read that fails once must not switch limits off.
TEST(CgroupsSubtreeControl, AnUnreadableFileIsAnError) {
  ModelKernel kernel(CgroupVersion::kV2, CpuSet::range(0, 7), CpuSet{0});
  (void)kernel.cgroups();
  for (const int error : {EIO, EACCES, ENOENT, ENOMEM}) {
    for (int fail_at = 0; fail_at < 4; ++fail_at) {  // at least one read for each controller
      int reads = 0;
      kernel.fault = [&](const char* what, const std::string&, const std::string& file) {
        const bool is_it = file == "cgroup.subtree_control" && what == std::string("read");
        return is_it && reads++ == fail_at ? error : 0;
      };
      EXPECT_THROW((void)kernel.cgroups(), std::runtime_error) << error << ", read " << fail_at;
    }
  }
}

TEST(CgroupsSubtreeControl, ARefusedControllerIsNamedWithTheReason) {
  ModelKernel kernel(CgroupVersion::kV2, CpuSet::range(0, 7), CpuSet{0});
  (void)kernel.cgroups();
  kernel.root.files["cgroup.subtree_control"] = "cpuset cpu ";
  kernel.fault = [](const char* what, const std::string&, const std::string& file) {
    return file == "cgroup.subtree_control" && what == std::string("write") ? EACCES : 0;
  };
  const auto warnings = kernel.cgroups().warnings();
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_THAT(warnings.front(), HasSubstr("memory limits are not enforced ("));
  EXPECT_THAT(warnings.front(), HasSubstr("Permission denied"));
}

/// An unreadable group is named, and the others are observed.
TEST(CgroupsObserve, NamesAGroupThatCannotBeRead) {
  for (const auto version : {CgroupVersion::kV1, CgroupVersion::kV2}) {
    ModelKernel kernel(version, CpuSet::range(0, 7), CpuSet{0, 1});
    Cgroups cgroups = kernel.cgroups();
    Layout desired;
    for (const char* const pod : {"p", "q"}) {
      desired[GroupName(PodUid(pod))] = {{0, 1}, {}, {}, Isolation::kHost};
      desired[{PodUid(pod), "c"}] = {{0, 1}, {}, {}, Isolation::kHost};
    }
    const Plan steps = plan({}, desired, kernel.cpus).value();
    ASSERT_THAT(apply_plan(cgroups, steps, {}, desired, kernel.cpus).failed, IsEmpty());
    kernel.fault = [](const char* what, const std::string& group, const std::string&) {
      return group == "podp/c" && what == std::string("read") ? EIO : 0;
    };
    const Layout observed = cgroups.observe(desired).value();
    EXPECT_EQ(observed.at({PodUid("q"), "c"}), desired.at({PodUid("q"), "c"}));
    EXPECT_EQ(observed.at(GroupName(PodUid("p"))), desired.at(GroupName(PodUid("p"))));
    EXPECT_THAT(observed.at({PodUid("p"), "c"}).problem, HasSubstr("podp/c"));
    EXPECT_TRUE(find_foreign(cgroups).has_value());
  }
}

TEST(KubepodsOf, IsTheDirectoryOfAKubelet) {
  EXPECT_EQ(kubepods_of("/m/kubepods.slice/kubepods-pod1.slice"), "/m/kubepods.slice");
  EXPECT_EQ(kubepods_of("/m/x/kubepods/burstable/pod1"), "/m/x/kubepods");
  EXPECT_EQ(kubepods_of("/m/x.slice/x-kubepods.slice/x-kubepods-pod1.slice"),
            "/m/x.slice/x-kubepods.slice");
  EXPECT_EQ(kubepods_of("/m/user.slice/a"), "");
}

}  // namespace
}  // namespace pinfold::enforce
