// decide_truth FILE...: makes every decision of conformance vectors that the C call pinfold_decide
// can express through it, and compares it with the kubelet's. Prints how many there are, and why
// the others are left out. Exit status 1 if one differs.

#include <fmt/format.h>
#include <pinfold/decide.h>

#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "described_machine.hpp"
#include "over_vectors.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/memory/count_again.hpp"

namespace pinfold::test {
namespace {

using nlohmann::json;
using simulate::Arrival;

using Prepared = std::unique_ptr<pinfold_machine, decltype(&pinfold_machine_free)>;

std::uint32_t options_of(const Node& node) {
  const CpuPolicyOptions& cpu = node.cpu().options();
  const TopologyOptions& topology = node.topology().options();
  std::uint32_t options = 0;
  const auto add = [&](bool is_on, std::uint32_t option) { options |= is_on ? option : 0; };
  add(cpu.full_pcpus_only, PINFOLD_FULL_PCPUS_ONLY);
  add(cpu.distribute_cpus_across_numa, PINFOLD_DISTRIBUTE_CPUS_ACROSS_NUMA);
  add(cpu.align_by_socket, PINFOLD_ALIGN_BY_SOCKET);
  add(cpu.distribute_cpus_across_cores, PINFOLD_DISTRIBUTE_CPUS_ACROSS_CORES);
  add(cpu.strict_cpu_reservation, PINFOLD_STRICT_CPU_RESERVATION);
  add(cpu.prefer_align_cpus_by_uncorecache, PINFOLD_PREFER_ALIGN_CPUS_BY_UNCORECACHE);
  add(topology.prefer_closest_numa_nodes, PINFOLD_PREFER_CLOSEST_NUMA_NODES);
  add(topology.prefer_most_allocated_numa_node, PINFOLD_PREFER_MOST_ALLOCATED_NUMA_NODE);
  add(topology.numa_allocation_strategy == NumaAllocationStrategy::kMostAllocated,
      PINFOLD_NUMA_ALLOCATION_MOST_ALLOCATED);
  add(topology.numa_allocation_strategy == NumaAllocationStrategy::kLeastAllocated,
      PINFOLD_NUMA_ALLOCATION_LEAST_ALLOCATED);
  return options;
}

/// The kinds of memory of a node by name: "memory" first.
std::vector<std::string> kinds_of(const Arrival& arrival) {
  if (!arrival.node.memory().is_static()) return {};
  std::set<std::string> names;
  for (const auto& [id, node] : arrival.state.memory.machine_state) {
    for (const auto& [name, table] : node.tables) names.insert(name);
  }
  names.erase("memory");
  std::vector<std::string> kinds = {"memory"};
  kinds.insert(kinds.end(), names.begin(), names.end());
  return kinds;
}

/// One decision in the structures of the C interface.
class Call {
 public:
  explicit Call(const Arrival& arrival)
      : arrival_(arrival), state_(arrival.state), kinds_(kinds_of(arrival)) {}

  /// Returns why the call cannot express the arrival; "" if it can.
  std::string prepare() {
    const Node& node = arrival_.node;
    const PodSpec& pod = arrival_.pod;
    if (pod.resources) return "pod-level resources";
    if (state_.find(pod.uid) != nullptr || !containers_with_assignments(state_, pod.uid).empty()) {
      return "a pod that is admitted again";
    }
    for (const Container& container : pod.containers) {
      if (container.kind != ContainerKind::kApp) return "init containers";
    }
    if (!node.providers().empty()) return "further providers";
    state_ = release_stale(node, std::move(state_));
    guaranteed_ = qos_class(PodView(pod), node.gates()) == QosClass::kGuaranteed;
    make_machine();
    make_state();
    if (!follows_from_allocations()) {
      return "a NUMA node that serves two groups, or gave more than its share: a bug of the "
             "kubelet";
    }
    if (std::string why = make_request(); !why.empty()) return why;
    decision_ = decide(node, arrival_.state, pod);
    if (const auto* rejected = std::get_if<Rejected>(&decision_)) {
      return rejected->step.source == "devices" ? "rejected for lack of devices" : "";
    }
    return has_cpu_of_two(std::get<Admitted>(decision_).next)
               ? "a CPU of two containers: a bug of the kubelet"
               : "";
  }

  /// Compares with the library's decision, which other tests compare with every vector.
  std::string compare() {
    std::vector<pinfold_placement> placements(containers_.size());
    std::vector<std::byte> workspace(pinfold_decide_workspace(machine_.get(), &request_));
    std::array<char, 512> message{};
    const pinfold_code code =
        pinfold_decide(machine_.get(), &known_, &request_, placements.data(), workspace.data(),
                       workspace.size(), message.data(), message.size());
    if (const auto* rejected = std::get_if<Rejected>(&decision_)) {
      const std::string want = rejected->why.reason + ": " + rejected->why.message;
      return code == PINFOLD_REJECTED && want == message.data()
                 ? ""
                 : fmt::format("{} {}, want {}", code, message.data(), want);
    }
    if (code != PINFOLD_OK) return fmt::format("{} {}, want it admitted", code, message.data());
    const NodeState& next = std::get<Admitted>(decision_).next;
    for (std::size_t i = 0; i < containers_.size(); ++i) {
      const ContainerId id{arrival_.pod.uid, arrival_.pod.containers[i].name};
      const std::string difference = compare(id, containers_[i].owner, placements[i], next);
      if (!difference.empty()) return fmt::format("{}: {}", id.name, difference);
    }
    return "";
  }

 private:
  /// Returns whether the kubelet gave a container a CPU that another has: the quirks
  /// large_group_taken_with_cpus_in_use and spanning_group_taken_twice. A CPU has one owner here.
  [[nodiscard]] static bool has_cpu_of_two(const NodeState& next) {
    CpuSet seen;
    for (const auto& [pod, name, cpus] : next.cpu.assignments) {
      if (seen.intersects(cpus) || next.cpu.default_set.intersects(cpus)) return true;
      seen |= cpus;
    }
    return false;
  }

  /// Returns whether the memory manager's numbers follow from its allocations, counted one after
  /// the other from the lowest NUMA nodes. After removals from a group they may not.
  [[nodiscard]] bool follows_from_allocations() const {
    MemoryCheckpoint fresh = state_.memory;
    fresh = count_again(std::move(fresh), /*pod_level_gate=*/true);
    for (const auto& [id, node] : state_.memory.machine_state) {
      const NodeMemory& other = fresh.machine_state.at(id);
      if (node.cells != other.cells || node.number_of_assignments != other.number_of_assignments) {
        return false;
      }
      for (const auto& [kind, table] : node.tables) {
        if (table.free != other.tables.at(kind).free) return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::string compare(const ContainerId& id, std::uint32_t owner,
                                    const pinfold_placement& placement, const NodeState& next) {
    CpuSet cpus;
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      if (owners_[i] == owner) cpus.insert(arrival_.node.machine().cpus()[i].id);
    }
    const CpuSet* const assigned = next.cpu.assignments.find(id);
    const CpuSet want = assigned == nullptr ? CpuSet{} : *assigned;
    if (cpus != want) return fmt::format("CPUs {}, want {}", cpus.to_string(), want.to_string());
    const TopologyHint* const stored = next.affinity.find(id);
    const TopologyHint hint = stored == nullptr ? TopologyHint{} : *stored;
    if (placement.affinity_mask != (hint.numa ? hint.numa->bits() : 0) ||
        (placement.preferred != 0) != hint.preferred) {
      return fmt::format("affinity {:x}, want {:x}", placement.affinity_mask,
                         hint.numa ? hint.numa->bits() : 0);
    }
    std::uint64_t nodes = 0;
    if (const auto* const blocks = next.memory.assignments.find(id)) {
      for (const MemoryBlock& block : *blocks) nodes |= mask_of(block.numa_affinity);
    }
    if (placement.memory_mask == nodes) return "";
    return fmt::format("memory on {:x}, want {:x}", placement.memory_mask, nodes);
  }

  [[nodiscard]] std::uint64_t mask_of(const std::vector<std::int32_t>& ids) const {
    std::uint64_t mask = 0;
    for (const std::int32_t id : ids) {
      const auto position = arrival_.node.machine().numa_position(NumaId{id});
      if (position) mask |= std::uint64_t{1} << *position;
    }
    return mask;
  }

  void make_machine() {
    const Node& node = arrival_.node;
    const Machine& machine = node.machine();
    DescribedMachine described;
    for (const Cpu& cpu : machine.cpus()) {
      described.cpus.push_back(
          {cpu.id.value, cpu.core.value, cpu.socket.value, cpu.numa.value, cpu.l3.value});
    }
    std::vector<std::uint32_t> distances;
    for (const NumaNode& one : machine.numa_nodes()) {
      described.numa.push_back(one.id.value);
      distances.insert(distances.end(), one.distances.begin(), one.distances.end());
    }
    if (distances.size() == described.numa.size() * described.numa.size()) {
      described.distances = std::move(distances);
    }
    for (const std::string& kind : kinds_) {
      for (const std::int32_t id : described.numa) {
        const auto& tables = state_.memory.machine_state.at(id).tables;
        const auto table = tables.find(kind);
        described.memory.push_back(table == tables.end() ? 0 : table->second.allocatable);
      }
    }
    for (const CpuId cpu : node.cpu().reserved()) described.reserved.push_back(cpu.value);

    pinfold_machine_description description = described.describe();
    description.topology_policy = static_cast<std::int32_t>(node.topology().policy());
    description.scope = static_cast<std::int32_t>(node.topology().scope());
    description.profile = PINFOLD_PROFILE_KUBELET_1_36;
    description.options = options_of(node);
    std::array<char, 256> message{};
    pinfold_machine* made = nullptr;
    const pinfold_code code =
        pinfold_machine_make(&description, &made, message.data(), message.size());
    if (code != PINFOLD_OK) throw std::runtime_error(fmt::format("{} {}", code, message.data()));
    machine_.reset(made);
  }

  void make_state() {
    owners_.resize(arrival_.node.machine().cpus().size());
    known_ = PINFOLD_STATE_INIT;
    known_.owners = owners_.data();
    known_.owner_count = owners_.size();
    if (pinfold_state_clear(machine_.get(), &known_) != PINFOLD_OK) {
      throw std::runtime_error("pinfold_state_clear");
    }
    if (arrival_.node.cpu().is_static()) {
      for (std::size_t i = 0; i < owners_.size(); ++i) {
        const CpuId cpu = arrival_.node.machine().cpus()[i].id;
        if (!state_.cpu.default_set.contains(cpu) && owners_[i] == PINFOLD_SHARED) {
          owners_[i] = kOther;
        }
      }
    }
    const auto add = [&](const std::vector<MemoryBlock>& blocks) {
      if (kinds_.empty()) return;  // memory is not placed; these are of an earlier policy
      for (const MemoryBlock& block : blocks) {
        const auto kind = std::find(kinds_.begin(), kinds_.end(), block.type);
        allocations_.push_back({kOther, static_cast<std::uint32_t>(kind - kinds_.begin()),
                                mask_of(block.numa_affinity), block.size});
      }
    };
    for (const auto& [pod, containers] : state_.memory.assignments.by_pod()) {
      if (const auto whole = state_.memory.pods.find(pod); whole != state_.memory.pods.end()) {
        add(whole->second);
        continue;
      }
      for (const auto& [name, blocks] : containers) add(blocks);
    }
    known_.allocation_count = allocations_.size();
    allocations_.resize(allocations_.size() + kinds_.size() * arrival_.pod.containers.size());
    known_.allocations = allocations_.data();
    known_.allocation_capacity = allocations_.size();
  }

  std::string make_request() {
    const PodSpec& pod = arrival_.pod;
    const PodView view(pod);
    const Node& node = arrival_.node;
    int with_devices = 0;
    for (const Container& container : pod.containers) {
      pinfold_decide_container& request =
          containers_.emplace_back(pinfold_decide_container PINFOLD_DECIDE_CONTAINER_INIT);
      request.owner = static_cast<std::uint32_t>(containers_.size());
      if (node.cpu().is_static()) {
        const Quantity cpu = amount_of(container.resources.requests, "cpu");
        request.milli_cpu = static_cast<std::int64_t>(cpu.milli_value());
      }
      std::vector<std::uint64_t>& bytes = bytes_.emplace_back(kinds_.size());
      for (const auto& [name, amount] : container.resources.requests) {
        if (name != "cpu" && !is_memory_resource(name)) {
          ++with_devices;
          continue;
        }
        const auto kind = std::find(kinds_.begin(), kinds_.end(), name);
        if (!is_memory_resource(name) || kinds_.empty() || !guaranteed_) continue;
        if (!amount.as_int64_succeeds()) return "memory in a spelling that the kubelet refuses";
        if (amount.is_zero()) return "a request for 0 bytes";
        if (kind == kinds_.end()) return "huge pages that the machine does not have";
        bytes[static_cast<std::size_t>(kind - kinds_.begin())] =
            static_cast<std::uint64_t>(amount.value());
      }
      if (node.topology().scope() == TopologyScope::kContainer) {
        add_devices(node.devices().container_hints(state_.devices, view, container));
      } else {
        lists_.emplace_back();
      }
    }
    if (with_devices > 1 && node.topology().scope() == TopologyScope::kContainer) {
      return "devices of several containers";
    }
    if (node.topology().scope() == TopologyScope::kPod) {
      add_devices(node.devices().pod_hints(state_.devices, view));
    }
    for (std::size_t i = 0; i < containers_.size(); ++i) {
      containers_[i].memory = bytes_[i].data();
      containers_[i].memory_kinds = bytes_[i].size();
      containers_[i].devices = lists_[i].data();
      containers_[i].device_count = lists_[i].size();
    }
    request_ = PINFOLD_DECIDE_REQUEST_INIT;
    request_.containers = containers_.data();
    request_.container_count = containers_.size();
    request_.guaranteed = guaranteed_ ? 1 : 0;
    if (lists_.size() > containers_.size()) {
      request_.devices = lists_.back().data();
      request_.device_count = lists_.back().size();
    }
    return "";
  }

  void add_devices(const ResourceHints& hints) {
    std::vector<pinfold_resource_hints>& lists = lists_.emplace_back();
    for (const auto& [resource, list] : hints) {
      if (!list) continue;
      std::vector<pinfold_hint>& of_resource =
          *hints_.emplace_back(std::make_unique<std::vector<pinfold_hint>>());
      for (const TopologyHint& hint : *list) {
        of_resource.push_back({hint.numa ? hint.numa->bits() : 0, hint.preferred ? 1 : 0});
      }
      lists.push_back({of_resource.data(), of_resource.size()});
    }
  }

  static constexpr std::uint32_t kOther = 1'000'000;

  const Arrival& arrival_;
  NodeState state_;
  std::vector<std::string> kinds_;
  bool guaranteed_ = false;
  Decision decision_;
  Prepared machine_{nullptr, &pinfold_machine_free};
  std::vector<std::uint32_t> owners_;
  std::vector<pinfold_allocation> allocations_;
  pinfold_state known_ = PINFOLD_STATE_INIT;
  std::vector<std::vector<std::uint64_t>> bytes_;
  std::vector<std::unique_ptr<std::vector<pinfold_hint>>> hints_;
  std::vector<std::vector<pinfold_resource_hints>> lists_;
  std::vector<pinfold_decide_container> containers_;
  pinfold_decide_request request_ = PINFOLD_DECIDE_REQUEST_INIT;
};

class Truth {
 public:
  Result<void> add(const json& vector) {
    return simulate::for_each_arrival(vector, Profile::kKubelet136, [&](const Arrival& arrival) {
      ++all_;
      Call call(arrival);
      const std::string why = call.prepare();
      if (!why.empty()) {
        ++left_out_[why];
        return;
      }
      ++compared_;
      const std::string difference = call.compare();
      if (difference.empty()) return;
      ++different_;
      constexpr int kMost = 20;
      if (different_ <= kMost) {
        fmt::print("{}: pod {}: {}\n", vector.value("name", ""), arrival.pod.uid, difference);
      }
    });
  }

  [[nodiscard]] int finish() const {
    fmt::print("{:8} admissions\n{:8} made with pinfold_decide\n{:8} of them differ\n", all_,
               compared_, different_);
    for (const auto& [why, count] : left_out_) fmt::print("{:8} left out: {}\n", count, why);
    return compared_ > 0 && different_ == 0 ? 0 : 1;
  }

 private:
  int all_ = 0;
  int compared_ = 0;
  int different_ = 0;
  std::map<std::string, int> left_out_;
};

}  // namespace
}  // namespace pinfold::test

int main(int count, char** files) {
  return pinfold::test::run_over_vectors<pinfold::test::Truth>(count, files);
}
