#include "samples.hpp"

#include <fmt/format.h>

#include <array>

#include "node_samples.hpp"

namespace pinfold::world {

using test::best_effort;
using test::guaranteed;
using test::half_a_cpu;

PodUid uid_of(int number) { return PodUid(fmt::format("p{}", number)); }

PodSpec pod_of(int number, int shape) {
  static const std::array<std::vector<Container>, 9> kShapes = {{
      {best_effort("a")},
      {guaranteed("a", 1)},
      {guaranteed("a", 2)},
      {guaranteed("a", 3)},
      {half_a_cpu("a")},
      {guaranteed("a", 1), guaranteed("b", 2)},
      {guaranteed("a", 1), half_a_cpu("b")},
      {guaranteed("a", 2, ContainerKind::kInit), guaranteed("b", 1)},
      {guaranteed("a", 1, ContainerKind::kSidecar), guaranteed("b", 1)},
  }};
  return test::pod(uid_of(number).value,
                   kShapes.at(static_cast<std::size_t>(shape) % kShapes.size()));
}

std::vector<PodSpec> pods_of(int number, int shape) {
  constexpr int kMore = 100;
  constexpr int kMost = 4;
  std::vector<PodSpec> pods;
  for (int i = 0; i <= shape / kMore && i < kMost; ++i) {
    pods.push_back(pod_of(number + i, shape % kMore + i));
  }
  return pods;
}

const std::string& config_text(int number) {
  static const std::array<std::string, 6> kConfigs = {
      "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n",
      "cpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n",
      "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
      "topologyManagerPolicy: single-numa-node\n",
      "cpuManagerPolicy: static\nreservedSystemCPUs: '4'\n"
      "cpuManagerPolicyOptions: {distribute-cpus-across-numa: 'true'}\n",
      "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
      "topologyManagerPolicy: restricted\nmemoryManagerPolicy: Static\n"
      "kubeReserved: {memory: 1Gi}\nevictionHard: {}\n"
      "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n",
      "cpuManagerPolicy: static\nreservedSystemCPUs: '7'\n"
      "cpuManagerPolicyOptions: {strict-cpu-reservation: 'true'}\n",
  };
  return kConfigs.at(static_cast<std::size_t>(number) % kConfigs.size());
}

}  // namespace pinfold::world
