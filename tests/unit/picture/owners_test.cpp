#include <gtest/gtest.h>

#include "node/status_picture.hpp"
#include "pinfold/discover/discover.hpp"

namespace pinfold::tools {
namespace {

agent::ContainerStatus container_on(const CpuSet& cpus, Isolation isolation) {
  agent::ContainerStatus container;
  container.resources.name = "main";
  container.resources.memory = {{{0}, "memory", std::uint64_t{2} << 30U},
                                {{0, 1}, "hugepages-2Mi", std::uint64_t{1} << 21U}};
  container.desired.cpus = cpus;
  container.desired.isolation = isolation;
  return container;
}

agent::PodStatus pod_of(const std::string& name, agent::ContainerStatus container) {
  agent::PodStatus pod;
  pod.spec.namespace_name = "shop";
  pod.spec.name = name;
  pod.containers.push_back(std::move(container));
  return pod;
}

class Owners : public testing::Test {
 protected:
  Owners() : machine_(*discover(HwlocSynthetic{"pack:2 core:4 pu:1"}, "n1")) {
    status_.shared_pool = CpuSet{0, 5, 6, 7};
    status_.reserved = CpuSet{0};
    status_.pods = {pod_of("db", container_on({1, 2}, Isolation::kContainer)),
                    pod_of("web", container_on({3}, Isolation::kPod)),
                    pod_of("log", container_on({0, 5, 6, 7}, Isolation::kHost))};
    status_.held = {{{{PodUid("u-1"), {}, {}}, "old"}, CpuSet{4}, {}}};
  }
  /// "a shop/db/main 1-2", one for each entry.
  [[nodiscard]] std::vector<std::string> entries() const {
    std::vector<std::string> lines;
    for (const Overlay::Entry& entry : owners_of(machine_, status_).entries) {
      lines.push_back(entry.label + " " + entry.text + " " + entry.cpus.to_string());
    }
    return lines;
  }
  /// The mark's sign and its CPUs.
  [[nodiscard]] std::string marked() const {
    const Overlay owners = owners_of(machine_, status_);
    return owners.marks.empty() ? ""
                                : owners.marks.front().sign + owners.marks.front().cpus.to_string();
  }

  Machine machine_;
  agent::NodeStatus status_;
};

TEST_F(Owners, AreContainersPodsAndPools) {
  EXPECT_EQ(entries(),
            (std::vector<std::string>{"a shop/db/main 1-2", "b shop/web, pod shared pool 3",
                                      "c u-1/old, held 4", "R reserved, and in the shared pool 0",
                                      ". shared pool 5-7"}));
  EXPECT_EQ(owners_of(machine_, status_).entries.front().memory, "2Gi on 0, 2Mi of 2Mi on 0,1");
  EXPECT_EQ(marked(), "");
}

TEST_F(Owners, OfflineComesFirst) {
  status_.offline = CpuSet{2, 7};
  const auto lines = entries();
  EXPECT_EQ(lines.front(), "- offline 2,7");
  EXPECT_EQ(lines.back(), ". shared pool 5-6");
}

TEST_F(Owners, AllCpusAreSharedWithoutACpuManager) {
  status_ = {};
  EXPECT_EQ(entries(), (std::vector<std::string>{". shared pool 0-7"}));
}

TEST_F(Owners, DriftIsWhereAContainerRunsOtherwise) {
  agent::ContainerStatus& container = status_.pods[0].containers[0];
  container.observed.emplace();
  container.observed->effective_cpus = CpuSet{2, 6};
  EXPECT_EQ(marked(), "");  // without a problem
  container.problem = "runs on CPUs 2,6, expected 1-2";
  EXPECT_EQ(marked(), "!1,6");
}

TEST_F(Owners, DriftIsAForeignGroupOnExclusiveCpus) {
  enforce::ForeignGroup group;
  group.cpus = CpuSet::range(2, 7);
  status_.foreign = {group};
  EXPECT_EQ(marked(), "");  // without processes
  status_.foreign[0].processes = 1;
  EXPECT_EQ(marked(), "!2-4");
}

}  // namespace
}  // namespace pinfold::tools
