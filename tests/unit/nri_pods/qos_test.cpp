#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "fixture.hpp"
#include "pinfold/nri_pods/qos_of_cgroup.hpp"

namespace pinfold::nri {
namespace {

using test::annotated_only;
using test::limited;
using test::pod_with;

TEST(QosOfCgroup, KnowsTheKubeletsGroups) {
  struct Case {
    const char* cgroup;
    std::optional<QosClass> qos;
  };
  const PodUid uid("ab-12");
  for (const auto& [cgroup, qos] : {
           Case{"/kubepods/podab-12", QosClass::kGuaranteed},
           Case{"/kubepods/burstable/podab-12", QosClass::kBurstable},
           Case{"/kubepods/besteffort/podab-12", QosClass::kBestEffort},
           Case{"/root/kubepods/podab-12", QosClass::kGuaranteed},
           Case{"/kubepods.slice/kubepods-podab_12.slice", QosClass::kGuaranteed},
           Case{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podab_12.slice",
                QosClass::kBurstable},
           Case{"kubepods-besteffort-podab_12.slice", QosClass::kBestEffort},
           Case{"/a.slice/a-kubepods.slice/a-kubepods-podab_12.slice", QosClass::kGuaranteed},
           Case{"", std::nullopt},
           Case{"/", std::nullopt},
           Case{"/podab-12", std::nullopt},
           Case{"/kubepods/podab-13", std::nullopt},
           Case{"/kubepods/other/podab-12", std::nullopt},
           Case{"/burstable/podab-12", std::nullopt},
           Case{"/kubepods/podab-12/more", std::nullopt},
           Case{"/kubepods-podab-12", std::nullopt},
           Case{"/kubepods.slice/kubepods-podab-12.slice", std::nullopt},
           Case{".slice", std::nullopt},
       }) {
    EXPECT_EQ(qos_of_cgroup(cgroup, uid), qos) << cgroup;
  }
}

TEST(QosOfCgroup, BothDriversGiveTheSamePod) {
  for (const auto& spec : {pod_with({limited("a", "2", "1Gi")}), pod_with({"{name: a}"}),
                           pod_with({limited("a", "2", "1Gi"), "{name: b}"})}) {
    EXPECT_EQ(test::recovered(spec, {.systemd = true}), test::recovered(spec));
  }
}

TEST(QosOfCgroup, InAnyOtherGroupNothingIsExclusive) {
  const PodSpec spec = pod_with({limited("a", "2", "1Gi")});
  api::PodSandbox sandbox = test::sandbox_of(spec);
  sandbox.mutable_linux()->set_cgroup_parent("/pods");
  const auto seen = recover(sandbox, test::containers_of(spec), annotated_only()).value();
  EXPECT_EQ(seen.qos, std::nullopt);
  EXPECT_EQ(demand(seen, annotated_only()).why_shared, "its cgroup is not the kubelet's");
  EXPECT_THAT(demand(seen, annotated_only()).exclusive, testing::IsEmpty());
}

}  // namespace
}  // namespace pinfold::nri
