#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

#include "model_kernel.hpp"
#include "node_samples.hpp"
#include "pinfold/agent/node_agent.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "temp_dir.hpp"

namespace pinfold::test {

/// The state directory and the model kernel of an agent. Both outlive it.
struct World {
  explicit World(enforce::CgroupVersion version = enforce::CgroupVersion::kV2)
      : kernel(version, CpuSet::range(0, 7), CpuSet{0, 1}) {}

  [[nodiscard]] Result<agent::NodeAgent> try_open(Config config = {},
                                                  agent::AgentOptions options = {},
                                                  CpuSet offline = {}) {
    options.state_dir = state.path();
    return agent::NodeAgent::open(static_node(std::move(config)),
                                  checkpoint::Store::open(state.path()).value(), kernel.cgroups(),
                                  std::move(options), std::move(offline));
  }
  /// `offline`: CPUs that are offline.
  [[nodiscard]] agent::NodeAgent open(CpuSet offline = {}) {
    auto agent = try_open({}, {}, std::move(offline));
    if (!agent) throw std::runtime_error(agent.error().message);
    return *std::move(agent);
  }
  [[nodiscard]] std::string cpus(const std::string& group) {
    ModelKernel::Dir* const dir = kernel.find(group);
    return dir == nullptr ? "gone" : kernel.effective(*dir, "cpuset.cpus").to_string();
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    std::ifstream in(state / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TempDir state;
  ModelKernel kernel;
};

inline void must_admit(agent::NodeAgent& agent, const PodSpec& spec) {
  const auto outcome = agent.admit(spec);
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  ASSERT_FALSE(outcome->rejection) << outcome->rejection->message;
  ASSERT_FALSE(outcome->not_enforced) << outcome->not_enforced->message;
}

/// Puts a process into each container.
inline void run_processes(ModelKernel& kernel, const enforce::Layout& layout) {
  int process = 1'000'000'000;  // above any real PID
  for (const auto& [name, settings] : layout) {
    ModelKernel::Dir* const dir =
        name.is_pod() ? nullptr : kernel.find("pod" + name.pod.value + "/" + name.container);
    if (dir != nullptr) dir->processes = {process++};
  }
}

/// Returns the static policy with these CPUs reserved for the system, on two_sockets().
inline Config reserving(const std::string& cpus) {
  Config config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = cpus;
  return config;
}
inline Node node_reserving(const std::string& cpus) {
  return Node::make(two_sockets(), reserving(cpus)).value();
}

/// Returns `state` with other exclusive CPUs for the container "a" of some pods.
inline NodeState with_cpus(NodeState state, const std::map<std::string, CpuSet>& of_pods) {
  CpuSet assigned;
  for (const auto& [uid, cpus] : of_pods) {
    state.cpu.assignments[{PodUid(uid), "a"}] = cpus;
    assigned |= cpus;
  }
  state.cpu.default_set = CpuSet::range(0, 7) - assigned;
  return state;
}

}  // namespace pinfold::test
