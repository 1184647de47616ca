#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plan_fixture.hpp"

/// The table of docs/reconfigure.md: at least one change of a node with pods for each row.
namespace pinfold::test {

struct ReconfigurationRow {
  std::string change;  ///< the first column of the table
  Node from;
  NodeState state;
  Node to;
};

/// Makes the rows of one profile.
class ReconfigurationRows {
 public:
  explicit ReconfigurationRows(Profile profile) : profile_(profile) {
    add_policies();
    add_options();
    add_topology();
    add_pod_level();
    add_reserved_cpus();
    add_reserved_memory();
    add_hardware();
  }
  [[nodiscard]] std::vector<ReconfigurationRow> take() && { return std::move(rows_); }

 private:
  using Pods = std::vector<PodSpec>;

  static PodSpec sized(const std::string& uid, int cpus, int gib = 1) {
    return pod(uid, {{"cpu", std::to_string(cpus)}, {"memory", std::to_string(gib) + "Gi"}});
  }
  static PodSpec sharing(const std::string& uid) { return pod(uid, {{"cpu", "500m"}}); }
  static Config with_option(Config config, const std::string& option) {
    config.cpu_manager_policy_options[option] = "true";
    return config;
  }
  [[nodiscard]] Config aligned(const std::string& topology,
                               const std::string& scope = "container") const {
    Config config = aligning_config(topology, scope);
    config.profile = profile_;
    return config;
  }
  [[nodiscard]] Config reserving(const std::string& cpus) const {
    Config config = with_memory_manager(aligned("none"));
    config.reserved_system_cpus = cpus;
    return config;
  }
  [[nodiscard]] Config reserving_memory(int numa, int gib) const {
    Config config = aligned("none");
    config.memory_manager_policy = "Static";
    config.kube_reserved["memory"] = std::to_string(gib) + "Gi";
    config.reserved_memory = {{numa, {{"memory", std::to_string(gib) + "Gi"}}}};
    return config;
  }
  /// Gives a pod different CPUs from those that it was allocated.
  static void give(NodeState& state, const std::string& uid, const CpuSet& cpus) {
    CpuSet& own = state.cpu.assignments[{PodUid(uid), "c"}];
    state.cpu.default_set = (state.cpu.default_set | own) - cpus;
    own = cpus;
  }

  void add(const std::string& change, Node from, NodeState state, Node to) {
    rows_.push_back({change, std::move(from), std::move(state), std::move(to)});
  }
  void add(const std::string& change, const Machine& machine, const Config& from, const Config& to,
           const Pods& pods) {
    Node before = node_of(machine, from);
    NodeState state = state_with(before, pods);
    add(change, std::move(before), std::move(state), node_of(machine, to));
  }
  void add(const std::string& change, const Config& from, const Config& to, const Pods& pods) {
    add(change, smt_machine(), from, to, pods);
  }
  void add_machine(const std::string& change, const Config& config, const Pods& pods,
                   const MachineDescription& after) {
    Node before = node_of(machine_of({}), config);
    NodeState state = state_with(before, pods);
    add(change, std::move(before), std::move(state), node_of(Machine::make(after).value(), config));
  }

  void add_policies() {
    const Config on = aligned("restricted");
    Config off = on;
    off.cpu_manager_policy = "none";
    const Pods pods = {sized("a", 2), sized("b", 4), sharing("s")};
    add("CPU policy none to static", off, on, pods);
    add("CPU policy static to none", on, off, pods);
    add("memory policy None to Static", on, with_memory_manager(on), pods);
    add("memory policy Static to None", with_memory_manager(on), on, pods);
    Config other = with_memory_manager(on);
    for (const Profile profile : kProfiles) {
      other.profile = profile;
      add("profile", with_memory_manager(on), other, pods);
    }
  }

  void add_options() {
    const Config off = aligned("none");
    const Config whole_cores = with_option(off, "full-pcpus-only");
    Node node = node_of(smt_machine(), off);
    NodeState halves = state_with(node, {sized("a", 2), sized("b", 2), sharing("s")});
    give(halves, "b", {});
    give(halves, "a", {1, 2});
    give(halves, "b", {9, 10});
    add("full-pcpus-only on", std::move(node), std::move(halves),
        node_of(smt_machine(), whole_cores));
    add("full-pcpus-only on, with part of a core requested", off, whole_cores, {sized("a", 3)});
    for (const char* const option :
         {"distribute-cpus-across-numa", "align-by-socket", "distribute-cpus-across-cores",
          "prefer-align-cpus-by-uncorecache", "full-pcpus-only"}) {
      Config plain = aligned("best-effort");
      plain.feature_gates["CPUManagerPolicyAlphaOptions"] = true;
      const Config preferring = with_option(plain, option);
      const std::string change = "other options of the CPU manager on or off; full-pcpus-only off";
      const Pods pods = {sized("a", 4), sized("b", 2), sharing("s")};
      add(change, preferring, plain, pods);
      if (std::string(option) != "full-pcpus-only") add(change, plain, preferring, pods);
    }
    const Config strict = with_option(off, "strict-cpu-reservation");
    const Pods some = {sized("a", 2), sharing("s")};
    add("strict-cpu-reservation on or off", off, strict, some);
    add("strict-cpu-reservation on or off", strict, off, some);
    add("strict-cpu-reservation on, all CPUs exclusive", off, strict,
        {sized("a", 8), sized("b", 7)});
  }

  void add_topology() {
    for (const char* const policy : {"best-effort", "restricted", "single-numa-node"}) {
      Node node = node_of(smt_machine(), aligned("none"));
      NodeState spread = state_with(node, {sized("a", 2), sized("b", 2)});
      give(spread, "a", {1, 5});
      add("topology policy", std::move(node), std::move(spread),
          node_of(smt_machine(), aligned(policy)));
      add("topology policy", aligned(policy), aligned("none"), {sized("a", 2), sized("b", 4)});
    }
    add("topology policy that can never admit the pod", aligned("none"),
        aligned("single-numa-node"), {sized("a", 10), sized("b", 2)});
    const PodSpec spec = pod_of("a", {container("big", {{"cpu", "6"}, {"memory", "1Gi"}}),
                                      container("small", {{"cpu", "2"}, {"memory", "1Gi"}})});
    const Config by_container = aligned("single-numa-node");
    const Config by_pod = aligned("single-numa-node", "pod");
    add("topology scope", by_container, by_pod, {spec});
    add("topology scope", by_pod, by_container, {spec});
  }

  void add_pod_level() {
    Config off = with_memory_manager(aligned("restricted", "pod"));
    off.feature_gates["PodLevelResourceManagers"] = false;
    Config on = off;
    on.feature_gates["PodLevelResourceManagers"] = true;
    PodSpec spec =
        pod_of("a", {container("own", {{"cpu", "1"}, {"memory", "1Gi"}}), container("rest", {})});
    spec.resources = container("", {{"cpu", "3"}, {"memory", "3Gi"}}).resources;
    add("gate PodLevelResourceManagers", off, on, {spec, sized("b", 2)});
    add("gate PodLevelResourceManagers", on, off, {spec, sized("b", 2)});
  }

  void add_reserved_cpus() {
    const Machine machine = machine_of({});
    const Pods two = {sized("a", 2), sized("b", 2), sharing("s")};
    add("more reserved CPUs", machine, reserving("0"), reserving("0-1"), two);
    add("more reserved CPUs than are free", machine, reserving("0"), reserving("0-3"),
        {sized("a", 7), sized("b", 3), sized("d", 2), sized("e", 2), sized("f", 1)});
    add("fewer reserved CPUs", machine, reserving("0-3"), reserving("0"), two);
    add("other reserved CPUs", machine, reserving("0"), reserving("2"), two);
  }

  void add_reserved_memory() {
    const Machine machine = machine_of({});
    const Pods pods = {sized("a", 1, 9), sized("b", 1, 3)};
    const Config little = reserving_memory(0, 1);
    const Config much = reserving_memory(0, 5);
    add("more reserved memory", machine, little, much, pods);
    add("less reserved memory", machine, much, little, {sized("a", 1, 9)});
    add("reserved memory on another NUMA node", machine, reserving_memory(1, 5), much, pods);
  }

  void add_hardware() {
    const Pods two = {sized("a", 2), sized("b", 2), sharing("s")};
    const MachineDescription whole = machine_of({}).description();
    MachineDescription fewer = whole;
    std::erase_if(fewer.cpus, [](const Cpu& cpu) { return cpu.id.value == 1; });
    add_machine("CPUs removed, or offline for good", reserving("0"), two, fewer);
    MachineDescription more = whole;
    more.cpus.push_back({CpuId{16}, CoreId{16}, SocketId{1}, NumaId{1}, CacheId{1}});
    add_machine("CPUs added", reserving("0"), two, more);
    MachineDescription smaller = whole;
    smaller.numa_nodes[0].memory = std::uint64_t{11} << 30U;
    add_machine("less memory on a NUMA node", reserving("0"), {sized("a", 1, 9), sized("b", 1, 3)},
                smaller);
    MachineDescription larger = whole;
    larger.numa_nodes[0].memory = std::uint64_t{32} << 30U;
    add_machine("more memory on a NUMA node", reserving("0"), two, larger);
    add_machine("NUMA node removed", reserving("0"), {sized("a", 6), sized("b", 3)},
                machine_of({.numa = 1}).description());
    add_machine("NUMA node added", reserving("0"), two, machine_of({.numa = 3}).description());
  }

  Profile profile_;
  std::vector<ReconfigurationRow> rows_;
};

}  // namespace pinfold::test
