#pragma once

#include "plan_fixture.hpp"

/// Checked plans, and states that no kubelet would choose.
namespace pinfold::test {

constexpr const char* kNic = "example.com/nic";
constexpr std::uint64_t kGi = std::uint64_t{1} << 30U;

inline Config with_reserved(Config config, const std::string& cpus) {
  config.reserved_system_cpus = cpus;
  return config;
}

inline Config of_whole_cores(Config config) {
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  return config;
}

inline Config with_whole_pods(Config config) {
  config.feature_gates["PodLevelResourceManagers"] = true;
  return config;
}

inline Config without_cpu_manager(Config config) {
  config.cpu_manager_policy = "none";
  config.cpu_manager_policy_options.clear();
  return config;
}

/// Plans a change, and checks the properties that every plan must have.
inline ReconfigurationPlan checked_plan(const Node& from, const NodeState& state, const Node& to,
                                        const PlanOptions& options = {}) {
  auto planned = plan_reconfiguration(from, state, to, options);
  EXPECT_TRUE(planned) << planned.error().message;
  if (!planned) return {};
  EXPECT_EQ(start_error(to, planned->next), "") << describe(*planned);
  EXPECT_EQ(overlap(to, planned->next), "") << describe(*planned);
  EXPECT_EQ(cost_of(planned->containers), planned->cost) << describe(*planned);
  return *std::move(planned);
}

/// A pod with one container "c", with requests that equal its limits.
inline PodSpec sized(const std::string& uid, int cpus, int gib = 1) {
  return pod(uid, {{"cpu", std::to_string(cpus)}, {"memory", std::to_string(gib) + "Gi"}});
}

/// A pod with the containers x and y.
inline PodSpec pair_of(const std::string& uid, int x, int y) {
  return pod_of(uid, {container("x", {{"cpu", std::to_string(x)}, {"memory", "1Gi"}}),
                      container("y", {{"cpu", std::to_string(y)}, {"memory", "1Gi"}})});
}

/// Returns a pod whose containers share its resources.
inline PodSpec whole(const std::string& uid, int cpus, int gib) {
  PodSpec spec = pod_of(uid, {container("c", {})});
  spec.resources =
      container("", {{"cpu", std::to_string(cpus)}, {"memory", std::to_string(gib) + "Gi"}})
          .resources;
  return spec;
}

/// Parses "a/x", container x of pod a, or "a", its container "c".
inline ContainerId id_of(const std::string& text) {
  const auto slash = text.find('/');
  return slash == std::string::npos
             ? ContainerId{PodUid(text), "c"}
             : ContainerId{PodUid(text.substr(0, slash)), text.substr(slash + 1)};
}

/// Returns the state in which containers have these CPUs instead.
inline NodeState with_cpus(const Node& node, NodeState state,
                           const std::map<std::string, CpuSet>& cpus) {
  for (const auto& [name, of_container] : cpus) {
    state.cpu.assignments[id_of(name)] = of_container;
  }
  state.cpu.default_set = empty_state(node).cpu.default_set;
  for (const auto& entry : state.cpu.assignments) state.cpu.default_set -= entry.value;
  return state;
}

/// Returns the state in which the memory of containers is on these NUMA nodes instead. A plan reads
/// only the assignments.
inline NodeState with_memory_on(NodeState state,
                                const std::map<std::string, std::vector<std::int32_t>>& nodes) {
  for (const auto& [name, ids] : nodes) {
    for (MemoryBlock& block : state.memory.assignments[id_of(name)]) block.numa_affinity = ids;
  }
  return state;
}

}  // namespace pinfold::test
