#include "pinfold/cpu/cpu_manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cpu_hierarchy.hpp"
#include "pinfold/api/topology_policy.hpp"
#include "read_policy_options.hpp"
#include "take.hpp"

namespace pinfold {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

tl::unexpected<Error> corrupt(std::string message) {
  return fail(ErrorCode::kCorrupt, std::move(message));
}

int saturated(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<int>::max()));
}

/// Returns the number of CPUs to reserve; amounts round up.
Result<int> reserved_count(const NodeReservation& reservation) {
  const auto amount = reservation.amounts.find("cpu");
  if (amount == reservation.amounts.end()) {
    return invalid("[cpumanager] unable to determine reserved CPU resources for static policy");
  }
  if (amount->second.is_zero()) {
    return invalid(
        "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be "
        "greater than zero");
  }
  return saturated((amount->second.milli_value() + 999) / 1000);
}

Result<CpuSet> with_siblings(const Machine& machine, const CpuSet& cpus) {
  CpuSet all;
  for (const CpuId cpu : cpus) {
    if (machine.find(cpu) == nullptr) {
      return invalid(
          fmt::format("[cpumanager] unable to build the reserved physical CPUs from the reserved "
                      "set: unknown CPU ID: {}",
                      cpu.value));
    }
    all |= machine.cores()[static_cast<std::size_t>(machine.groups_of(cpu).core)].cpus;
  }
  return all;
}

Result<CpuSet> reserve(const cpu::TakeRules& rules, const NodeReservation& reservation) {
  const Machine& machine = rules.hierarchy->machine();
  PINFOLD_LET(const auto count, reserved_count(reservation));
  CpuSet reserved = reservation.cpus;
  if (reserved.empty()) {
    // If this fails, the check of the size below reports the error.
    if (auto taken = cpu::take(rules, machine.all_cpus(), count, nullptr)) reserved = *taken;
  }
  if (static_cast<int>(reserved.size()) != count) {
    return invalid(
        fmt::format("[cpumanager] unable to reserve the required amount of CPUs (size of {} did "
                    "not equal {})",
                    reserved.to_string(), count));
  }
  return reserved;
}

/// Releases the CPUs of pods without containers. Only an allocation that failed halfway leaves such
/// pods behind.
void release_cpus_of_empty_pods(CpuState& state) {
  for (auto pod = state.pods.begin(); pod != state.pods.end();) {
    if (state.assignments.contains(pod->first)) {
      ++pod;
      continue;
    }
    if (!state.default_set.empty()) state.default_set |= pod->second;
    pod = state.pods.erase(pod);
  }
}

}  // namespace

CpuManager::CpuManager() = default;
CpuManager::CpuManager(CpuManager&&) noexcept = default;
CpuManager& CpuManager::operator=(CpuManager&&) noexcept = default;
CpuManager::~CpuManager() = default;

Result<CpuManager> CpuManager::make(const Machine& machine, const Config& config,
                                    const NodeReservation& reservation) {
  CpuManager manager;
  manager.machine_ = &machine;
  manager.gates_ = config.gates();
  manager.quirks_ = config.quirks();
  manager.hierarchy_ = std::make_unique<const cpu::CpuHierarchy>(machine);
  if (config.cpu_manager_policy == "none") {
    if (config.cpu_manager_policy_options.empty()) return manager;
    std::string options;
    for (const auto& [name, value] : config.cpu_manager_policy_options) {
      options += fmt::format("{}{}:{}", options.empty() ? "" : " ", name, value);
    }
    return invalid("new none policy error: None policy: received unsupported options=map[" +
                   options + "]");
  }
  if (config.cpu_manager_policy != "static") {
    return invalid(fmt::format("unknown policy: \"{}\"", config.cpu_manager_policy));
  }
  PINFOLD_TRY(reserved_count(reservation));

  static constexpr std::string_view kIntent = "new static policy error";
  PINFOLD_LET_WRAP(manager.options_, cpu::read_policy_options(machine, config), kIntent);
  manager.is_static_ = true;
  PINFOLD_LET_WRAP(manager.reserved_, reserve(manager.rules(), reservation), kIntent);
  PINFOLD_LET_WRAP(manager.reserved_cores_, with_siblings(machine, manager.reserved_), kIntent);
  // single-numa-node rejects wider masks. With up to 16 NUMA nodes they are made anyway, as in the
  // kubelet.
  if (config.topology_manager_policy == to_string(TopologyPolicy::kSingleNumaNode) &&
      machine.numa_with_cpus() > kMaxNodesForEveryMask) {
    manager.widest_hint_ = 1;
  }
  return manager;
}

cpu::TakeRules CpuManager::rules() const {
  cpu::TakeRules rules;
  rules.hierarchy = hierarchy_.get();
  rules.quirks = quirks_;
  rules.across_numa = options_.distribute_cpus_across_numa;
  rules.numa_group_size = options_.full_pcpus_only ? machine_->cpus_per_core() : 1;
  rules.across_cores = options_.distribute_cpus_across_cores;
  rules.by_uncore_cache = options_.prefer_align_cpus_by_uncorecache;
  rules.align_by_socket = options_.align_by_socket;
  return rules;
}

Result<void> CpuManager::start(CpuState& state) const {
  state.reusable_pod = {};
  state.reusable.clear();
  if (!is_static_) return {};
  // QUIRK: without the quirk, a start releases the CPUs of pods without containers.
  if (!quirks_.cpus_of_empty_pod_stay_taken) release_cpus_of_empty_pods(state);
  // strict-cpu-reservation: the shared pool excludes the reserved CPUs.
  const bool strict = options_.strict_cpu_reservation;
  const CpuSet usable = strict ? allocatable() : machine_->all_cpus();
  if (state.default_set.empty()) {
    if (state.assignments.empty()) {
      state.default_set = usable;
      return {};
    }
    // QUIRK: without the quirk, exclusive containers can use up the shared pool under
    // strict-cpu-reservation.
    if (quirks_.empty_shared_pool_prevents_start || !strict) {
      return corrupt("default cpuset cannot be empty");
    }
  }
  if (strict && state.default_set.intersects(reserved_)) {
    return corrupt(
        fmt::format("some of strictly reserved cpus: \"{}\" are present in defaultCpuSet: \"{}\"",
                    (reserved_ & state.default_set).to_string(), state.default_set.to_string()));
  }
  if (!strict && !state.default_set.contains_all(reserved_)) {
    return corrupt(fmt::format("not all reserved cpus: \"{}\" are present in defaultCpuSet: \"{}\"",
                               reserved_.to_string(), state.default_set.to_string()));
  }
  CpuSet known = state.default_set;
  for (const auto& [uid, name, cpus] : state.assignments) {
    if (cpus.intersects(state.default_set)) {
      return corrupt(
          fmt::format("pod: {}, container: {} cpuset: \"{}\" overlaps with default cpuset \"{}\"",
                      uid, name, cpus.to_string(), state.default_set.to_string()));
    }
    known |= cpus;
  }
  if (gates_.pod_level_resource_managers) {
    for (const auto& [uid, cpus] : state.pods) known |= cpus;
  }
  if (known != usable) {
    return corrupt(
        fmt::format("current set of available CPUs \"{}\" doesn't match with CPUs in state \"{}\"",
                    usable.to_string(), known.to_string()));
  }
  return {};
}

CpuSet CpuManager::available(const CpuState& state) const {
  // QUIRK: the kubelet counts siblings of reserved CPUs as taken, but still allocates
  // them if a NUMA affinity leaves nothing else.
  const bool keeps_siblings =
      options_.full_pcpus_only && !quirks_.siblings_of_reserved_cpus_allocated;
  return state.default_set - (keeps_siblings ? reserved_cores_ : reserved_);
}

std::vector<int> CpuManager::allocation_scores(const CpuState& state) const {
  CpuSet assigned;
  for (const auto& [uid, name, cpus] : state.assignments) assigned |= cpus;
  for (const auto& [uid, cpus] : state.pods) assigned |= cpus;
  std::vector<int> scores;
  for (const Machine::Group& node : machine_->numa_groups()) {
    const std::size_t all = node.cpus.size() - reserved_.count_common(node.cpus);
    scores.push_back(all == 0 ? 0 : static_cast<int>(assigned.count_common(node.cpus) * 100 / all));
  }
  return scores;
}

}  // namespace pinfold
