#include "pinfold/nri_plugin/group_path.hpp"

#include <gtest/gtest.h>

#include "pinfold/enforce/foreign.hpp"

namespace pinfold::nri {
namespace {

TEST(GroupPath, OfBothDrivers) {
  const struct {
    const char* path;
    const char* directory;
  } cases[] = {
      {"/kubepods/burstable/pod1/abc", "/m/kubepods/burstable/pod1/abc"},
      {"kubepods//pod1/./abc", "/m/kubepods/pod1/abc"},
      {"kubepods-burstable-pod1.slice:cri-containerd:abc",
       "/m/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/"
       "cri-containerd-abc.scope"},
      {"kubepods-pod1_2.slice:crio:abc", "/m/kubepods.slice/kubepods-pod1_2.slice/crio-abc.scope"},
      {"kubepods-pod1.slice::abc", "/m/kubepods.slice/kubepods-pod1.slice/abc.scope"},
      {":crio:abc", "/m/system.slice/crio-abc.scope"},
      {"-.slice:crio:abc", "/m/crio-abc.scope"},
  };
  for (const auto& one : cases) EXPECT_EQ(group_directory("/m", one.path).value(), one.directory);
  EXPECT_EQ(group_directory("/m/", "/a").value(), "/m/a");
}

TEST(GroupPath, StaysBelowTheMount) {
  for (const char* const path :
       {"", "/", "/..", "/kubepods/../../x", "a:b", "/a/b.slice:p:n", "a.slice:p:../../x"}) {
    const auto directory = group_directory("/m", path);
    ASSERT_FALSE(directory.has_value()) << path << " became " << *directory;
    EXPECT_EQ(directory.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(GroupPath, OfPodsIsInTheirKubelets) {
  EXPECT_EQ(pod_directory("/m", "/kubepods/pod1").value(), "/m/kubepods/pod1");
  const std::string slice = pod_directory("/m", "kubepods-pod1.slice").value();
  EXPECT_EQ(slice, "/m/kubepods.slice/kubepods-pod1.slice");
  EXPECT_EQ(enforce::kubepods_of(slice), "/m/kubepods.slice");
}

}  // namespace
}  // namespace pinfold::nri
