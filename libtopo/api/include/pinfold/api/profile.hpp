#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// "1.36" of "v1.36.2", "1.36.2+k3s1", "v1.36" and "1.36"; any other text unchanged.
[[nodiscard]] std::string minor_version(std::string_view text);

/// Whose decisions are made. The differences are the Quirks of each.
enum class Profile {
  kKubelet136,  ///< "kubelet-1.36": bit for bit, with the kubelet's known bugs
  kKubelet137,  ///< "kubelet-1.37": the same, as 1.37 has changed it
  kKubelet138,  ///< "kubelet-1.38": the same, as the previews of 1.38 have changed it
  kFixed,       ///< "fixed": the same rules without them
};
/// All of them: the kubelets from old to new, then `fixed`.
inline constexpr std::array kProfiles = {Profile::kKubelet136, Profile::kKubelet137,
                                         Profile::kKubelet138, Profile::kFixed};
[[nodiscard]] std::string_view to_string(Profile profile);
/// Errors: kInvalidArgument, with the names that exist.
[[nodiscard]] Result<Profile> parse_profile(std::string_view text);
/// The profile of a kubelet by what `kubelet --version` prints: "Kubernetes v1.37.2".
/// Errors: kInvalidArgument for other text; kUnsupported for a version without a profile.
[[nodiscard]] Result<Profile> profile_of_kubelet(std::string_view version);
/// The names of kProfiles.
[[nodiscard]] std::vector<std::string> profile_names();

/// What a profile decides differently from the plain rules. Each member is one row of the table in
/// docs/kubelet-compat.md and true where the behaviour of kubelet 1.36 is kept; later kubelets have
/// some of them, and the profile `fixed` has none.
struct Quirks {
  // Admission and removal.

  /// A rejected pod keeps what it was given before the step that failed, until the next admission.
  bool rejected_pod_keeps_resources = false;
  /// When a pod is removed, its containers that never ran keep their CPUs and memory until the next
  /// admission.
  bool removed_pod_keeps_unstarted_containers = false;
  /// With topology policy `none`, each manager releases stale assignments only when it is asked to
  /// allocate.
  bool policy_none_releases_stale_late = false;
  /// When a pod is removed, its devices stay taken until the next admission: a pod that comes with
  /// the same UID still has them.
  bool removed_pod_keeps_devices = false;
  /// A container's devices return with its pod, not with the container.
  bool devices_return_with_pod = false;
  /// A pod with pod-level resources that is admitted again takes CPUs a second time.
  bool readmitted_pod_takes_cpus_again = false;
  /// A pod with pod-level resources that is admitted again takes memory a second time.
  bool readmitted_pod_takes_memory_again = false;
  /// A kubelet that starts admits the pods that run before it releases anything stale: what gone
  /// pods and rejected ones left is not free for them.
  bool stale_state_kept_until_pods_are_known = false;
  /// The memory hint of a pod that is admitted again is made from the memory of one container.
  bool pod_memory_hint_from_container = false;
  /// Pod-level resources that name no amount make the QoS class BestEffort.
  bool empty_pod_resources_set_qos_class = false;
  /// A container that requests more than its pod gets an oom_score_adj above 1000.
  bool oom_score_adj_above_1000 = false;

  // Start.

  /// A node whose state names CPUs that are offline now does not start.
  bool offline_cpus_prevent_start = false;
  /// More than 8 NUMA nodes need `max-allowable-numa-nodes`.
  bool numa_nodes_limited_to_8 = false;
  /// A start with `strict-cpu-reservation` fails if exclusive CPUs have used up the shared pool.
  bool empty_shared_pool_prevents_start = false;
  /// The CPUs of a pod that has no containers left are never released.
  bool cpus_of_empty_pod_stay_taken = false;
  /// Reserved memory above what a NUMA node has wraps around to a huge allocatable amount.
  bool excess_reserved_memory_wraps_around = false;

  // CPU manager, policy static.

  /// `full-pcpus-only` counts the free cores before it looks for CPUs that the container has.
  bool cores_counted_before_known_cpus = false;
  /// `full-pcpus-only` may hand out the siblings of reserved CPUs one by one.
  bool siblings_of_reserved_cpus_allocated = false;
  /// `distribute-cpus-across-numa` ignores `align-by-socket` when it chooses NUMA nodes.
  bool align_by_socket_ignored_in_distribution = false;
  /// `distribute-cpus-across-numa` may use fewer NUMA nodes than the affinity has.
  bool affinity_width_ignored_in_distribution = false;
  /// `distribute-cpus-across-cores` takes the CPUs of a socket in the order of their numbers, even
  /// where neighbours share a core.
  bool cores_spread_by_cpu_number = false;
  /// `distribute-cpus-across-numa` overwrites its best combination of NUMA nodes with later ones.
  bool best_numa_combination_overwritten = false;
  /// A socket or core that is larger than the average, and has an average number of free CPUs, is
  /// taken whole: CPUs in use included.
  bool large_group_taken_with_cpus_in_use = false;
  /// A whole cache, socket or NUMA node that spans two groups of the level above is counted twice:
  /// a container can get fewer CPUs than it requests.
  bool spanning_group_taken_twice = false;

  // Memory manager, policy Static.

  /// Memory that is spelled with a fraction, a negative exponent or too many digits is rejected
  /// though it is a whole number of bytes. Only static pods keep their spelling.
  bool memory_spelled_with_fraction_rejected = false;
  /// Finished init containers take memory again when their pod is admitted again.
  bool finished_init_containers_allocate_again = false;
  /// An affinity of one node that belongs to a group is used as it is, and overwrites the group.
  bool single_node_overwrites_group = false;
  /// What init containers leave to later ones outlives their pod.
  bool reusable_memory_outlives_pod = false;
  /// A container without memory requests in a pod with pod-level resources needs NUMA nodes for
  /// nothing, and is rejected where no affinity names some.
  bool empty_request_needs_numa_nodes = false;

  friend bool operator==(const Quirks&, const Quirks&) = default;
};

/// A member of Quirks, and the kubelets that have it.
struct Quirk {
  std::string_view name;  ///< of the member
  bool Quirks::*member;
  Profile last;                 ///< the latest kubelet that has it; all earlier ones have it, too
  std::string_view what;        ///< "a core that is larger than the average is taken whole, ..."
  std::string_view issue = {};  ///< "kubernetes#140495"; empty: none is known
};
/// Every quirk, in the order of the members.
[[nodiscard]] std::span<const Quirk> quirk_table();

/// The one place where a profile decides anything.
[[nodiscard]] Quirks quirks_of(Profile profile);

}  // namespace pinfold
