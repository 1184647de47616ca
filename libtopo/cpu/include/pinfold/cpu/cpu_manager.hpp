#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/api/config.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/api/reservation.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/types/container_map.hpp"
#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/rejection.hpp"
#include "pinfold/types/trace.hpp"

namespace pinfold {

namespace cpu {
class Hierarchy;
struct TakeRules;
}  // namespace cpu

/// What the kubelet keeps in cpu_manager_state.
struct CpuCheckpoint {
  CpuSet default_set;
  ContainerMap<CpuSet> assignments;
  /// The CPUs of each pod with pod-level resources (pod scope).
  std::map<PodUid, CpuSet> pods;

  friend bool operator==(const CpuCheckpoint&, const CpuCheckpoint&) = default;
};

/// What the CPU manager remembers: its checkpoint, and what a restart forgets.
struct CpuState : CpuCheckpoint {
  /// CPUs of init containers that later containers of the same pod may take: of the pod admitted
  /// last only.
  PodUid reusable_pod = {};
  CpuSet reusable = {};

  [[nodiscard]] const CpuCheckpoint& checkpoint() const { return *this; }

  friend bool operator==(const CpuState&, const CpuState&) = default;
};

/// Options of the static policy, with the kubelet's names; what each does is in
/// docs/cpu-manager.md.
struct CpuPolicyOptions {
  bool full_pcpus_only = false;
  bool distribute_cpus_across_numa = false;
  bool align_by_socket = false;
  bool distribute_cpus_across_cores = false;
  bool strict_cpu_reservation = false;
  bool prefer_align_cpus_by_uncorecache = false;

  friend bool operator==(const CpuPolicyOptions&, const CpuPolicyOptions&) = default;
};

/// The CPU manager with its policy `none` or `static`: immutable, all state is in CpuState.
/// Borrows the machine, which must outlive it.
class CpuManager {
 public:
  CpuManager(CpuManager&&) noexcept;
  CpuManager& operator=(CpuManager&&) noexcept;
  ~CpuManager();

  /// Checks policy and options, and works out the reserved CPUs.
  /// Errors: kInvalidArgument with the kubelet's text for stage `cpumanager` ("new static policy
  /// error: ...", "[cpumanager] unable to determine reserved CPU resources for static policy").
  [[nodiscard]] static Result<CpuManager> make(const Machine& machine, const Config& config,
                                               const NodeReservation& reservation);

  [[nodiscard]] bool is_static() const { return is_static_; }
  [[nodiscard]] const CpuPolicyOptions& options() const { return options_; }
  [[nodiscard]] const CpuSet& reserved() const { return reserved_; }
  /// CPUs that can ever be exclusive.
  [[nodiscard]] CpuSet allocatable() const { return machine_->all_cpus() - reserved_; }

  /// The kubelet's start: fills an empty state, checks one that was restored.
  /// Errors: kCorrupt with the kubelet's text ("default cpuset cannot be empty", ...).
  [[nodiscard]] Result<void> start(CpuState& state) const;

  /// Exclusive CPUs that a container is entitled to; 0: it runs in a shared pool. Amounts beyond
  /// the range of int count as its greatest value.
  [[nodiscard]] int guaranteed_cpus(const PodSpec& pod, const Container& container) const;

  /// Hints for one container (container scope), before allocation. Up to 16 NUMA nodes with CPUs
  /// these are the kubelet's: one for every mask that holds the request, in its order. On larger
  /// machines only the masks of for_each_hint_mask_of_width are looked at (all of up to three
  /// nodes, runs of neighbours beyond), and only single nodes under the policy single-numa-node.
  [[nodiscard]] ResourceHints container_hints(const CpuState& state, const PodSpec& pod,
                                              const Container& container) const;
  /// Hints for a whole pod (pod scope), before allocation.
  [[nodiscard]] ResourceHints pod_hints(const CpuState& state, const PodSpec& pod) const;

  /// Gives a container its CPUs: what it has already, or what is free near the affinity first. On a
  /// rejection the state may have changed, as the kubelet's does.
  /// Source: observed behaviour of kubelet v1.36.2; under the profile `fixed` without the defects
  /// that are marked DEVIATION in the sources.
  [[nodiscard]] Admission allocate(CpuState& state, const PodSpec& pod, const Container& container,
                                   const TopologyHint& affinity, Trace* trace) const;
  /// Gives a pod with pod-level resources its CPUs and partitions them (pod scope).
  [[nodiscard]] Admission allocate_pod(CpuState& state, const PodSpec& pod,
                                       const TopologyHint& affinity, Trace* trace) const;
  /// Releases a container's CPUs; unknown names are no error.
  void remove_container(CpuState& state, const ContainerId& container) const;

  /// For prefer-most-allocated-numa-node: exclusively assigned CPUs x 100 / allocatable CPUs of
  /// each NUMA position, integer division, 0 if nothing is allocatable.
  [[nodiscard]] std::vector<int> allocation_scores(const CpuState& state) const;

 private:
  CpuManager();

  /// How many CPUs are wanted, for whom, and where they may come from beside the shared pool.
  struct Request {
    const std::string& object;  ///< "pod" or the container's name, for the trace
    int count = 0;
    std::optional<NumaMask> affinity;
    CpuSet reusable;
  };

  [[nodiscard]] cpu::TakeRules rules() const;
  [[nodiscard]] CpuSet available(const CpuState& state) const;
  [[nodiscard]] bool manages(const PodSpec& pod) const;
  [[nodiscard]] std::string why_shared(const PodSpec& pod, const Container& container) const;
  [[nodiscard]] int pod_guaranteed_cpus(const PodSpec& pod) const;
  [[nodiscard]] Admission check_shared_pool(const PodSpec& pod) const;
  [[nodiscard]] Admission check_smt_alignment(const CpuState& state, int count) const;
  [[nodiscard]] CpuSet aligned(const CpuSet& cpus, NumaMask affinity) const;
  [[nodiscard]] tl::expected<CpuSet, Rejection> take_out(CpuState& state, const Request& request,
                                                         Trace* trace) const;
  [[nodiscard]] Admission partition(CpuState& state, const PodSpec& pod, const CpuSet& pool,
                                    Trace* trace) const;
  [[nodiscard]] ResourceHints hints(const CpuSet& free, const CpuSet& reusable, int count) const;

  const Machine* machine_ = nullptr;
  FeatureGates gates_;
  Profile profile_ = Profile::kFixed;
  bool is_static_ = false;
  CpuPolicyOptions options_;
  CpuSet reserved_;
  CpuSet reserved_cores_;  ///< reserved_ and all their SMT siblings
  int widest_hint_ = NumaMask::kMaxNodes;
  std::unique_ptr<const cpu::Hierarchy> hierarchy_;
};

}  // namespace pinfold
