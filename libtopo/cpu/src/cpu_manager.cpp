#include "pinfold/cpu/cpu_manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cpu_sets.hpp"
#include "pinfold/api/pod_level.hpp"
#include "pinfold/cpu/policy_options.hpp"

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

Result<CpuSet> reserve(const place::CpuPolicy& policy, const Machine& machine,
                       const NodeReservation& reservation) {
  PINFOLD_LET(const auto count, reserved_count(reservation));
  CpuSet reserved = reservation.cpus;
  if (reserved.empty()) {
    // If this fails, the check of the size below reports the error.
    if (auto taken = cpu::take(policy, machine.all_cpus(), count)) reserved = *taken;
  }
  if (static_cast<int>(reserved.size()) != count) {
    return invalid(
        fmt::format("[cpumanager] unable to reserve the required amount of CPUs (size of {} did "
                    "not equal {})",
                    reserved.to_string(), count));
  }
  for (const CpuId cpu : reserved) {
    if (machine.find(cpu) != nullptr) continue;
    return invalid(
        fmt::format("[cpumanager] unable to build the reserved physical CPUs from the reserved "
                    "set: unknown CPU ID: {}",
                    cpu.value));
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
  manager.stores_baselines_ = manager.gates_.in_place_pod_vertical_scaling_exclusive_cpus &&
                              config.profile >= Profile::kKubelet137;
  manager.tree_ = cpu::tree_of(machine);
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
  PINFOLD_LET_WRAP(const CpuPolicyOptions options, cpu::read_policy_options(machine, config),
                   kIntent);
  auto policy = std::make_unique<place::CpuPolicy>(
      *manager.tree_, options, manager.quirks_,
      place::widest_listed(config.topology_manager_policy, machine.numa_with_cpus()));
  PINFOLD_LET_WRAP(manager.reserved_, reserve(*policy, machine, reservation), kIntent);
  std::vector<place::Word> reserved(manager.tree_->words());
  manager.reserved_.copy_words(reserved);
  policy->reserve(reserved);
  manager.reserved_cores_ = CpuSet::of_words(policy->reserved_cores());
  manager.policy_ = std::move(policy);
  manager.is_static_ = true;
  return manager;
}

const CpuPolicyOptions& CpuManager::options() const {
  static constexpr CpuPolicyOptions kNone;
  return policy_ == nullptr ? kNone : policy_->options();
}

bool CpuManager::manages(const PodSpec& pod) const { return is_manageable(gates_, pod); }

Result<void> CpuManager::start(CpuState& state) const {
  state.reusable_pod = {};
  state.reusable.clear();
  if (!is_static_) return {};
  // QUIRK: without the quirk, a start releases the CPUs of pods without containers.
  if (!quirks_.cpus_of_empty_pod_stay_taken) release_cpus_of_empty_pods(state);
  // strict-cpu-reservation: the shared pool excludes the reserved CPUs.
  const bool strict = options().strict_cpu_reservation;
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

const CpuSet* baseline_of(const CpuCheckpoint& state, const ContainerId& container) {
  const CpuSet* const assigned = state.assignments.find(container);
  if (assigned == nullptr) return nullptr;
  const CpuSet* const stored = state.baselines.find(container);
  const bool is_valid = stored != nullptr && !stored->empty() && assigned->contains_all(*stored);
  return is_valid ? stored : assigned;
}

std::vector<NumaUsage> CpuManager::usage(const CpuState& state) const {
  if (!is_static_) return {};
  CpuSet assigned;
  for (const auto& [uid, name, cpus] : state.assignments) assigned |= cpus;
  for (const auto& [uid, cpus] : state.pods) assigned |= cpus;
  std::vector<NumaUsage> usage;
  usage.reserve(machine_->numa_nodes().size());
  place::HeapArena memory(policy_->bytes());
  const place::Cpus words = cpu::words_of(assigned, *tree_, memory.arena());
  for (int node = 0; node < machine_->numa_count(); ++node) {
    usage.push_back(policy_->usage(words, node));
  }
  return usage;
}

}  // namespace pinfold
