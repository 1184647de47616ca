#include "pinfold/enforce/mounts.hpp"

#include <gtest/gtest.h>

namespace pinfold::enforce {
namespace {

constexpr const char* kUnified =
    "22 1 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
    "31 22 0:28 / /sys/fs/cgroup rw,nosuid,nodev shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

constexpr const char* kLegacy =
    "31 22 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

constexpr const char* kHybrid =
    "31 22 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

TEST(Mountinfo, ReadsTheFieldsThatMatter) {
  const auto mounts = parse_mountinfo(
      "36 35 98:0 /mnt1 /a\\040b\\134c rw,noatime master:1 shared:2 - ext3 /dev/root "
      "rw,errors=x\n");
  ASSERT_TRUE(mounts.has_value()) << mounts.error().message;
  ASSERT_EQ(mounts->size(), 1U);
  EXPECT_EQ(mounts->front(), (Mount{"/mnt1", "/a b\\c", "ext3", "rw,errors=x"}));
}

TEST(Mountinfo, RejectsInvalidLines) {
  const struct {
    const char* name;
    std::string text;
  } cases[] = {
      {"too short", "36 35 98:0 /mnt1\n"},
      {"no dash", "36 35 98:0 / /mnt rw master:1 ext3 /dev/root rw\n"},
      {"no type", "36 35 98:0 / /mnt rw - \n"},
      {"relative mount point", "36 35 98:0 / mnt rw - ext3 a rw\n"},
      {"second line", "31 22 0:28 / /sys rw - sysfs s rw\nnonsense\n"},
  };
  for (const auto& c : cases) {
    const auto mounts = parse_mountinfo(c.text);
    ASSERT_FALSE(mounts.has_value()) << c.name;
    EXPECT_EQ(mounts.error().code, ErrorCode::kInvalidArgument) << c.name;
    EXPECT_NE(mounts.error().message.find("mountinfo line"), std::string::npos)
        << c.name << ": " << mounts.error().message;
  }
}

Result<std::vector<HierarchyRoot>> find(const char* mountinfo, const std::string& root,
                                        const std::string& controllers = "") {
  return locate(parse_mountinfo(mountinfo).value(), root,
                [&](const std::string&) { return controllers; });
}

TEST(Locate, FindsAllControllersOfCgroupV2AtTheRoot) {
  const auto roots = find(kUnified, "/sys/fs/cgroup/a/b", "cpuset cpu io memory hugetlb pids\n");
  ASSERT_TRUE(roots.has_value()) << roots.error().message;
  const HierarchyRoot expected{
      CgroupVersion::kV2,
      "/sys/fs/cgroup/a/b",
      {Controller::kCpuset, Controller::kCpu, Controller::kMemory, Controller::kHugetlb}};
  EXPECT_EQ(*roots, std::vector{expected});
}

TEST(Locate, FindsEachHierarchyOfCgroupV1AtTheSameRelativePath) {
  const auto roots = find(kLegacy, "/sys/fs/cgroup/cpuset/kube/x");
  ASSERT_TRUE(roots.has_value()) << roots.error().message;
  const std::vector<HierarchyRoot> expected = {
      {CgroupVersion::kV1, "/sys/fs/cgroup/cpuset/kube/x", {Controller::kCpuset}},
      {CgroupVersion::kV1, "/sys/fs/cgroup/cpu,cpuacct/kube/x", {Controller::kCpu}},
      {CgroupVersion::kV1, "/sys/fs/cgroup/memory/kube/x", {Controller::kMemory}}};
  EXPECT_EQ(*roots, expected);
}

TEST(Locate, MixesVersionsInHybridMode) {
  const auto roots = find(kHybrid, "/sys/fs/cgroup/unified/x", "cpu memory");
  ASSERT_TRUE(roots.has_value()) << roots.error().message;
  const std::vector<HierarchyRoot> expected = {
      {CgroupVersion::kV1, "/sys/fs/cgroup/cpuset/x", {Controller::kCpuset}},
      {CgroupVersion::kV2, "/sys/fs/cgroup/unified/x", {Controller::kCpu, Controller::kMemory}}};
  EXPECT_EQ(*roots, expected);
}

TEST(Locate, RejectsUnusableRoots) {
  const struct {
    const char* name;
    const char* mountinfo;
    std::string root;
    std::string controllers;
    ErrorCode code;
    std::string says;
  } cases[] = {
      {"not in a cgroup mount", kUnified, "/sys/kernel", "cpuset", ErrorCode::kInvalidArgument,
       "it is on sysfs, mounted at '/sys'"},
      {"in the tmpfs that holds the mounts", kLegacy, "/sys/fs/cgroup", "",
       ErrorCode::kInvalidArgument, "tmpfs"},
      {"a name that only begins like a mount", kUnified, "/sys/fs/cgroup2", "cpuset",
       ErrorCode::kInvalidArgument, "sysfs"},
      {"nothing mounted", "", "/sys/fs/cgroup", "", ErrorCode::kInvalidArgument, "not in a"},
      {"cpuset not delegated", kUnified, "/sys/fs/cgroup/a", "cpu memory", ErrorCode::kUnsupported,
       "'+cpuset'"},
      {"a controller whose name only contains it", kUnified, "/sys/fs/cgroup/a", "cpuset2 xcpuset",
       ErrorCode::kUnsupported, "'+cpuset'"},
  };
  for (const auto& c : cases) {
    const auto roots = find(c.mountinfo, c.root, c.controllers);
    ASSERT_FALSE(roots.has_value()) << c.name;
    EXPECT_EQ(roots.error().code, c.code) << c.name;
    EXPECT_NE(roots.error().message.find(c.says), std::string::npos)
        << c.name << ": " << roots.error().message;
  }
}

TEST(Locate, TakesTheMountOnTopOfAnother) {
  const std::string text =
      std::string(kLegacy) + "50 31 0:50 / /sys/fs/cgroup/cpuset rw - tmpfs tmpfs rw\n";
  EXPECT_FALSE(find(text.c_str(), "/sys/fs/cgroup/cpuset/a").has_value());
}

TEST(ControllerOf, TakesTheNameBeforeTheDot) {
  EXPECT_EQ(controller_of("cpuset.cpus"), Controller::kCpuset);
  EXPECT_EQ(controller_of("cpu.max"), Controller::kCpu);
  EXPECT_EQ(controller_of("hugetlb.2MB.max"), Controller::kHugetlb);
  EXPECT_EQ(controller_of("cgroup.procs"), std::nullopt);
}

TEST(GroupOfProcess, IsFoundInTheMountOfTheCpusets) {
  const std::vector<Mount> v2 = {{"/", "/sys/fs/cgroup", "cgroup2", "rw"}};
  EXPECT_EQ(group_of_process("0::/a/b\n", v2, CgroupVersion::kV2).value(), "/sys/fs/cgroup/a/b");
  EXPECT_EQ(group_of_process("0::/\n", v2, CgroupVersion::kV2).value(), "/sys/fs/cgroup");
  EXPECT_FALSE(group_of_process("0::/../x\n", v2, CgroupVersion::kV2).has_value());
  EXPECT_FALSE(group_of_process("", v2, CgroupVersion::kV2).has_value());
  const std::vector<Mount> v1 = {{"/", "/c/cpu", "cgroup", "rw,cpu"},
                                 {"/docker/1", "/c/cpuset", "cgroup", "rw,cpuset"}};
  const std::string text = "4:cpu:/x\n3:cpuset:/docker/1/y\n0::/z\n";
  EXPECT_EQ(group_of_process(text, v1, CgroupVersion::kV1).value(), "/c/cpuset/y");
  EXPECT_FALSE(group_of_process("3:cpuset:/docker/12\n", v1, CgroupVersion::kV1).has_value());
}

}  // namespace
}  // namespace pinfold::enforce
