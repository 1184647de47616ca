#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/api/amounts.hpp"
#include "pinfold/api/config.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/api/reservation.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/place/cpu_policy_options.hpp"
#include "pinfold/types/container_map.hpp"
#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/rejection.hpp"
#include "pinfold/types/trace.hpp"

namespace pinfold {

namespace place {
class CpuPolicy;
class CpuTree;
struct CpuFailure;
}  // namespace place

/// The part of the CPU manager's state that the kubelet keeps in cpu_manager_state.
struct CpuCheckpoint {
  CpuSet default_set;
  ContainerMap<CpuSet> assignments;
  /// The CPUs of each pod with pod-level resources (pod scope).
  std::map<PodUid, CpuSet> pods;
  /// The CPUs of a container's admission, which a resize never takes away (KEP-5554). Only for
  /// containers that were resized, or admitted with InPlacePodVerticalScalingExclusiveCPUs on; see
  /// baseline_of().
  ContainerMap<CpuSet> baselines;

  friend bool operator==(const CpuCheckpoint&, const CpuCheckpoint&) = default;
};

/// Returns the baseline of a container: its stored one if it still has these CPUs, else all its
/// CPUs. nullptr if it has no assignment.
[[nodiscard]] const CpuSet* baseline_of(const CpuCheckpoint& state, const ContainerId& container);

/// Why hints or CPUs are requested. In an admission, a container whose number of CPUs differs from
/// its request has no hints; in a resize, it keeps some of its exclusive CPUs.
enum class CpuRequestKind { kAdmission, kResize };

/// The state of the CPU manager: its checkpoint, and the part that a restart loses.
struct CpuState : CpuCheckpoint {
  /// CPUs of init containers that later containers of the same pod may reuse. Kept only for the pod
  /// that was admitted last.
  PodUid reusable_pod = {};
  CpuSet reusable = {};

  [[nodiscard]] const CpuCheckpoint& checkpoint() const { return *this; }

  friend bool operator==(const CpuState&, const CpuState&) = default;
};

/// The CPU manager with policy `none` or `static`. Immutable: all state is in CpuState. Borrows the
/// machine, which must outlive it.
class CpuManager {
 public:
  CpuManager(CpuManager&&) noexcept;
  CpuManager& operator=(CpuManager&&) noexcept;
  ~CpuManager();

  /// Checks policy and options, and chooses the reserved CPUs.
  /// Errors: kInvalidArgument with the kubelet's text for stage `cpumanager` ("new static policy
  /// error: ...", "[cpumanager] unable to determine reserved CPU resources for static policy").
  [[nodiscard]] static Result<CpuManager> make(const Machine& machine, const Config& config,
                                               const NodeReservation& reservation);

  [[nodiscard]] bool is_static() const { return is_static_; }
  [[nodiscard]] const CpuPolicyOptions& options() const;
  [[nodiscard]] const CpuSet& reserved() const { return reserved_; }
  /// Returns the reserved CPUs and all their SMT siblings.
  [[nodiscard]] const CpuSet& reserved_cores() const { return reserved_cores_; }
  /// Returns the CPUs that can become exclusive: all but the reserved ones.
  [[nodiscard]] CpuSet allocatable() const { return machine_->all_cpus() - reserved_; }

  /// Starts like the kubelet: initialises an empty state, checks a restored one.
  /// Errors: kCorrupt with the kubelet's text ("default cpuset cannot be empty", ...).
  [[nodiscard]] Result<void> start(CpuState& state) const;

  /// Returns the number of exclusive CPUs for a container; 0 if it runs in a shared pool. Capped to
  /// the range of int.
  [[nodiscard]] int guaranteed_cpus(const PodView& pod, const Container& container) const;

  /// Returns hints for one container (container scope), before allocation. With up to 16 NUMA nodes
  /// with CPUs they are the kubelet's: one for every mask with enough CPUs, in its order. On larger
  /// machines only the masks of for_each_hint_mask_of_width are tried, and under the topology
  /// policy single-numa-node only single NUMA nodes.
  [[nodiscard]] ResourceHints container_hints(
      const CpuState& state, const PodView& pod, const Container& container,
      CpuRequestKind kind = CpuRequestKind::kAdmission) const;
  /// Returns hints for a whole pod (pod scope), before allocation.
  [[nodiscard]] ResourceHints pod_hints(const CpuState& state, const PodView& pod,
                                        CpuRequestKind kind = CpuRequestKind::kAdmission) const;

  /// For explanations: returns why pod_hints() has no hints, if the reason is anything but too few
  /// CPUs on the NUMA nodes; "" otherwise.
  [[nodiscard]] std::string why_no_pod_hints(const CpuState& state, const PodView& pod) const;
  /// For explanations: returns the CPUs that a container (or with nullptr the pod) needs and, for
  /// each NUMA node, how many are free to become exclusive and how many exclusive containers hold.
  /// Empty if it needs none.
  [[nodiscard]] std::vector<Amounts> amounts(const CpuState& state, const PodView& pod,
                                             const Container* container) const;
  /// Returns the CPUs of the shared pool that can become exclusive. Domain: policy static.
  [[nodiscard]] CpuSet free_cpus(const CpuState& state) const;
  /// For explanations: returns why a container runs in a shared pool. Domain: guaranteed_cpus() is
  /// 0, or the policy is not static, or the pod has pod-level resources that are not managed.
  [[nodiscard]] std::string why_shared(const PodView& pod, const Container& container) const;

  /// Allocates a container's CPUs: those that it already has, else free ones, first within the
  /// affinity. A rejection may change the state, as in the kubelet.
  /// Source: kubelet v1.36.2, observed; see Quirks.
  [[nodiscard]] Admission allocate(CpuState& state, const PodView& pod, const Container& container,
                                   const TopologyHint& affinity, Trace* trace) const;
  /// Allocates the CPUs of a pod with pod-level resources and divides them among its containers
  /// (pod scope).
  [[nodiscard]] Admission allocate_pod(CpuState& state, const PodView& pod,
                                       const TopologyHint& affinity, Trace* trace) const;
  /// Gives a container the number of CPUs that it now requests: keeps its CPUs and takes more,
  /// first within the affinity; or keeps its baseline and the CPUs near it. A rejection changes
  /// nothing. Domain: it has an assignment, and requests at least the size of its baseline. Source:
  /// the code proposed for 1.38 (kubernetes#140629); docs/kubelet-compat.md.
  [[nodiscard]] Admission resize(CpuState& state, const PodView& pod, const Container& container,
                                 const TopologyHint& affinity, Trace* trace) const;
  /// Returns whether the state has the baseline of every container, not only of resized ones.
  [[nodiscard]] bool stores_baselines() const { return stores_baselines_; }
  /// Adds a baseline for each container that was moved: as many of its CPUs in `to` as its earlier
  /// baseline had. Keeps the baselines that `to` already has.
  void move_baselines(const ContainerMap<CpuSet>& earlier, CpuCheckpoint& to) const;
  /// Releases a container's CPUs; ignores unknown names.
  void remove_container(CpuState& state, const ContainerId& container) const;

  /// Returns how many of the CPUs that can become exclusive are assigned, for each NUMA position;
  /// empty with policy none.
  [[nodiscard]] std::vector<NumaUsage> usage(const CpuState& state) const;

 private:
  CpuManager();

  /// A request for exclusive CPUs.
  struct Request {
    const std::string& object;  ///< "pod" or the container's name, for the trace
    int count = 0;
    std::optional<NumaMask> affinity;
    CpuSet reusable;  ///< may be taken in addition to the shared pool
  };

  [[nodiscard]] bool manages(const PodSpec& pod) const;
  [[nodiscard]] int pod_guaranteed_cpus(const PodView& pod) const;
  /// Returns the baseline of a container that had `baseline` and was moved to `cpus`.
  [[nodiscard]] CpuSet moved_baseline(const CpuSet& baseline, const CpuSet& cpus) const;
  [[nodiscard]] Admission check_shared_pool(const PodView& pod) const;
  [[nodiscard]] Admission check_cores(const CpuState& state, const std::string& object, int count,
                                      Trace* trace) const;
  [[nodiscard]] tl::expected<CpuSet, Rejection> take_out(CpuState& state, const Request& request,
                                                         Trace* trace) const;
  /// CPUs by container name.
  using Parts = std::map<std::string, CpuSet>;
  /// Divides the pod's CPUs among the containers that have no part yet.
  [[nodiscard]] Admission partition(CpuState& state, const PodView& pod, const CpuSet& pool,
                                    Parts parts, Trace* trace) const;
  /// Returns the hints for CPUs of the shared pool and those that the pod already has.
  [[nodiscard]] ResourceHints hints_of_free(const CpuState& state, const CpuSet& reusable,
                                            int count) const;
  /// Returns the hints for `cpus`, each with all NUMA nodes of the `reusable` CPUs.
  [[nodiscard]] ResourceHints hints_of(const CpuSet& cpus, const CpuSet& reusable, int count) const;

  const Machine* machine_ = nullptr;
  FeatureGates gates_;
  Quirks quirks_;
  bool is_static_ = false;
  bool stores_baselines_ = false;  ///< of every container
  CpuSet reserved_;
  CpuSet reserved_cores_;  ///< reserved_ and all their SMT siblings
  std::unique_ptr<const place::CpuTree> tree_;
  std::unique_ptr<const place::CpuPolicy> policy_;
};

}  // namespace pinfold
