#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent/agent_view.hpp"
#include "pinfold/picture/text.hpp"

namespace pinfold::tools {
namespace {

/// A pod with one container, which runs on every second CPU except CPU 0.
agent::PodStatus pod_with_every_second_cpu(int cpus) {
  CpuSet set;
  for (int cpu = 2; cpu < cpus; cpu += 2) set.insert(CpuId{cpu});
  agent::PodStatus pod;
  pod.spec.namespace_name = "production-databases";
  pod.spec.name = "postgres-primary-6d5f9c7b8-x2lqv";
  pod.qos = QosClass::kGuaranteed;
  agent::ContainerStatus container;
  container.resources.name = "metrics-exporter";
  container.resources.cpuset_mems = "0-1";
  container.desired.cpus = set;
  container.observed = agent::ObservedContainer{};
  container.observed->effective_cpus = set;
  container.observed->effective_mems = CpuSet{0};
  container.observed->processes = 12;
  container.problem = "has CPUs 0-255 instead of those of the state";
  pod.containers.push_back(std::move(container));
  return pod;
}

TEST(ContainerTable, FitsEightyColumns) {
  for (const int cpus : {8, 256}) {
    for (const bool enforced : {false, true}) {
      const std::string table = container_table({pod_with_every_second_cpu(cpus)}, enforced, {});
      std::string rest = table;
      while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        EXPECT_LE(display_width(rest.substr(0, end)), 80U) << cpus << "\n" << table;
        rest.erase(0, end + 1);
      }
      EXPECT_NE(table.find(fmt::format("{}", cpus - 2)), std::string::npos) << table;
      EXPECT_EQ(table.find("not ok") != std::string::npos, enforced) << table;
    }
  }
}

TEST(ContainerTable, HasWhatTheKernelSaysIfThereIsRoom) {
  agent::PodStatus pod = pod_with_every_second_cpu(4);
  pod.spec.namespace_name = "shop";
  pod.spec.name = "db";
  pod.containers.front().resources.name = "main";
  EXPECT_EQ(container_table({pod}, true, {.width = 100}),
            "POD      CONTAINER  QOS         ISOLATION  CPUS  MEMS  RUNS ON  MEMORY ON  PROCS  "
            "VERDICT\n"
            "shop/db  main       Guaranteed  host       2     0-1   2        0          12     "
            "not ok\n"
            "shop/db/main: has CPUs 0-255 instead of those of the state\n");
}

}  // namespace
}  // namespace pinfold::tools
