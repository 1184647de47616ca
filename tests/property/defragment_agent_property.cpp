// For any node agent: after the suggested defragmentation is applied, the admission succeeds.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <string>

#include "../crash/memory_fs.hpp"
#include "draw.hpp"
#include "model_kernel.hpp"
#include "node_samples.hpp"
#include "pinfold/agent/earlier_node.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/agent/reconfiguration.hpp"
#include "pinfold/checkpoint/store.hpp"

namespace pinfold::agent {
namespace {

using checkpoint::testing::Disk;
using checkpoint::testing::MemoryFs;
using test::draw;

constexpr int kMemoryGib = 4;  // of each NUMA node of the sample

Config drawn_config() {
  Config config;
  config.profile = draw(0, 1) == 0 ? Profile::kFixed : Profile::kKubelet136;
  config.topology_manager_policy = draw(0, 2) == 0 ? "restricted" : "single-numa-node";
  config.topology_manager_scope = draw(0, 1) == 0 ? "pod" : "container";
  if (draw(0, 1) == 0) return config;
  config.memory_manager_policy = "Static";
  config.reserved_memory = {{0, {{"memory", "1Gi"}}}};
  config.system_reserved = {{"memory", "924Mi"}};  // plus 100Mi as the eviction threshold
  return config;
}

PodSpec drawn_pod(const std::string& uid) {
  std::vector<Container> containers;
  const int count = draw(0, 3) == 0 ? 2 : 1;
  for (int i = 0; i < count; ++i) {
    Container container = test::guaranteed("c" + std::to_string(i), draw(1, 3));
    container.resources.limits["memory"] =
        Quantity::bytes(std::int64_t{draw(1, kMemoryGib)} << 29U);
    container.resources.requests = container.resources.limits;
    containers.push_back(std::move(container));
  }
  return test::pod(uid, std::move(containers));
}

/// Admits pods, and removes some of them again.
void fill(NodeAgent& agent) {
  for (int i = 0; i < 5; ++i) {
    const PodSpec pod = drawn_pod("pod-" + std::to_string(i));
    const auto admitted = agent.admit(pod);
    RC_ASSERT(admitted.has_value());
    if (!admitted->rejection && draw(0, 2) == 0) {
      RC_ASSERT(agent.remove_pod(pod.uid, RunningProcesses::kRefuse).has_value());
    }
  }
}

void check_kernel(const NodeAgent& agent) {
  const auto drift = agent.find_drift();
  RC_ASSERT(drift.has_value());
  RC_ASSERT(drift->empty());
}

RC_GTEST_PROP(DefragmentAgentProperty, TheNodeAdmitsThePodAfterTheMoves, ()) {
  test::ModelKernel kernel(enforce::CgroupVersion::kV2, CpuSet::range(0, 7), CpuSet{0, 1});
  auto opened = NodeAgent::open(
      test::static_node(drawn_config()),
      checkpoint::Store::open(std::make_unique<MemoryFs>(std::make_shared<Disk>())).value(),
      kernel.cgroups(), {});
  RC_ASSERT(opened.has_value());
  NodeAgent agent = *std::move(opened);
  fill(agent);
  const PodSpec pod = drawn_pod("new");
  const NodeState before = agent.state().node;
  const auto planned = plan_defragmentation(agent, pod, {});
  RC_ASSERT(planned.has_value());
  const Room& room = *planned->room;
  RC_CLASSIFY(!room.rejection, "is admitted");
  RC_CLASSIFY(room.rejection && room.is_possible, "moves");
  RC_CLASSIFY(!room.is_possible, "impossible");
  RC_ASSERT(agent.state().node == before);
  if (room.rejection && room.is_possible) {
    const auto done =
        agent.reconfigure(std::nullopt, planned->plan.next, RunningProcesses::kRefuse);
    RC_ASSERT(done.has_value());
    RC_ASSERT(!done->not_enforced.has_value());
    check_kernel(agent);
    const Node same = make_node(agent.before()->machine, agent.before()->config).value();
    const auto undo = plan_undo(agent, same);
    RC_ASSERT(undo.has_value());
    const NodeState earlier = release_stale(same, before);
    RC_ASSERT(undo->plan.next.cpu.assignments == earlier.cpu.assignments);
    RC_ASSERT(undo->plan.next.memory.assignments == earlier.memory.assignments);
    RC_ASSERT(undo->plan.cost.containers_moved == planned->plan.cost.containers_moved);
    RC_ASSERT(undo->plan.cost.cpus_moved == planned->plan.cost.cpus_moved);
  } else {
    RC_ASSERT(planned->plan.cost == PlanCost{});
  }
  const auto admitted = agent.admit(pod);
  RC_ASSERT(admitted.has_value());
  RC_ASSERT(admitted->rejection.has_value() != room.is_possible);
  check_kernel(agent);
}

}  // namespace
}  // namespace pinfold::agent
