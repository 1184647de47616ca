#include "pinfold/audit/group_names.hpp"

#include <gtest/gtest.h>

namespace pinfold::audit {
namespace {

const std::string kId(64, 'a');

TEST(KubeletGroupName, IsReadAsRuntimesWriteIt) {
  struct Row {
    std::string path;
    KubeletGroup group;
  };
  const PodUid uid("12-34");
  using enum GroupRole;
  const Row rows[] = {
      {"kubepods/pod12-34", {uid, QosClass::kGuaranteed, Driver::kCgroupfs, kPod, "", ""}},
      {"kubelet/kubepods/besteffort/pod12-34/" + kId,
       {uid, QosClass::kBestEffort, Driver::kCgroupfs, kContainer, kId, ""}},
      {"kubepods/burstable/pod12-34/crio-" + kId,
       {uid, QosClass::kBurstable, Driver::kCgroupfs, kContainer, kId, "cri-o"}},
      {"kubepods/burstable/pod12-34/crio-conmon-" + kId,
       {uid, QosClass::kBurstable, Driver::kCgroupfs, kMonitor, kId, "cri-o"}},
      {"kubepods.slice/kubepods-pod12_34.slice",
       {uid, QosClass::kGuaranteed, Driver::kSystemd, kPod, "", ""}},
      {"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_34.slice/cri-containerd-" +
           kId + ".scope",
       {uid, QosClass::kBurstable, Driver::kSystemd, kContainer, kId, "containerd"}},
      {"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod12_34.slice/docker-" + kId +
           ".scope",
       {uid, QosClass::kGuaranteed, Driver::kSystemd, kContainer, kId, "docker"}},
      {"kubepods/pod12-34/init.scope",
       {uid, QosClass::kGuaranteed, Driver::kCgroupfs, kOther, "", ""}},
  };
  for (const Row& row : rows) {
    const auto group = parse_group(row.path);
    ASSERT_TRUE(group) << row.path;
    EXPECT_EQ(*group, row.group) << row.path;
  }
}

TEST(KubeletGroupName, IsNotReadFromOthers) {
  for (const char* const path :
       {"", "/", "kubepods", "kubepods.slice", "kubepods/burstable", "system.slice/pod12.service",
        "pod12", "other/pod12", "kubepods/other/pod12", "kubepods/pod", "kubepods/pod1/a/b",
        "kubepods/pod1.2", "user.slice/user-pod1.slice", "xkubepods-pod1.slice", "pod1.slice",
        "kubepods.slice/kubepods-burstable.slice"}) {
    EXPECT_FALSE(parse_group(path)) << path;
  }
}

TEST(KubeletGroupName, OfTheRootSaysTheDriver) {
  EXPECT_EQ(driver_of_root("kubepods"), Driver::kCgroupfs);
  EXPECT_EQ(driver_of_root("kubepods.slice"), Driver::kSystemd);
  EXPECT_EQ(driver_of_root("kubelet-kubepods.slice"), Driver::kSystemd);
  EXPECT_FALSE(driver_of_root("kubepods-burstable.slice"));
  EXPECT_FALSE(driver_of_root("system.slice"));
}

TEST(LogFileName, HasPodNamespaceContainerAndId) {
  EXPECT_EQ(parse_log_name("web-0_shop_my-app-" + kId + ".log"),
            (LogName{"web-0", "shop", "my-app", kId}));
  for (const std::string& name :
       {std::string(".log"), kId + ".log", "-" + kId + ".log", "web_shop-" + kId + ".log",
        "_shop_app-" + kId + ".log", "web__app-" + kId + ".log", "web_shop_-" + kId + ".log",
        "web_shop_app-" + kId, "web_shop_app-" + std::string(64, 'g') + ".log"}) {
    EXPECT_FALSE(parse_log_name(name)) << name;
  }
}

}  // namespace
}  // namespace pinfold::audit
