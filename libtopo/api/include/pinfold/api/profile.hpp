#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// Returns "1.36" for "v1.36.2", "1.36.2+k3s1", "v1.36" and "1.36"; any other text unchanged.
[[nodiscard]] std::string minor_version(std::string_view text);

/// The kubelet whose decisions are made. Profiles differ in their Quirks.
enum class Profile {
  kKubelet136,  ///< "kubelet-1.36": bit for bit, including the kubelet's known bugs
  kKubelet137,  ///< "kubelet-1.37": the same, with the changes of 1.37
  kKubelet138,  ///< "kubelet-1.38": the same, with the changes in the previews of 1.38
  kFixed,       ///< "fixed": the same rules without the quirks
};
/// All profiles: the kubelets from old to new, then `fixed`.
inline constexpr std::array kProfiles = {Profile::kKubelet136, Profile::kKubelet137,
                                         Profile::kKubelet138, Profile::kFixed};
[[nodiscard]] std::string_view to_string(Profile profile);
/// Parses a profile's name. Errors: kInvalidArgument, with the known names.
[[nodiscard]] Result<Profile> parse_profile(std::string_view text);
/// Returns the profile for the output of `kubelet --version`: "Kubernetes v1.37.2".
/// Errors: kInvalidArgument for other text; kUnsupported for a version without a profile.
[[nodiscard]] Result<Profile> profile_of_kubelet(std::string_view version);
/// Returns the names of kProfiles.
[[nodiscard]] std::vector<std::string> profile_names();

/// The differences of a profile from the plain rules. Each member is one row of the table in
/// docs/kubelet-compat.md and true where kubelet 1.36's behaviour is kept. Later kubelets have some
/// of the quirks, the profile `fixed` has none.
struct Quirks {
  // Admission and removal.

  /// A rejected pod keeps what it got before the step that failed, until the next admission.
  bool rejected_pod_keeps_resources = false;
  /// Containers of a removed pod that never ran keep their CPUs and memory until the next
  /// admission.
  bool removed_pod_keeps_unstarted_containers = false;
  /// With topology policy `none`, each manager releases stale assignments only when it allocates.
  bool policy_none_releases_stale_late = false;
  /// The devices of a removed pod stay taken until the next admission, and a pod that arrives with
  /// the same UID still has them.
  bool removed_pod_keeps_devices = false;
  /// A container's devices return with its pod, not when the container is removed.
  bool devices_return_with_pod = false;
  /// A pod with pod-level resources that is admitted again takes CPUs a second time.
  bool readmitted_pod_takes_cpus_again = false;
  /// A pod with pod-level resources that is admitted again takes memory a second time.
  bool readmitted_pod_takes_memory_again = false;
  /// A starting kubelet admits the running pods before it releases anything stale, so they cannot
  /// use what gone and rejected pods left.
  bool stale_state_kept_until_pods_are_known = false;
  /// The memory hint of a readmitted pod comes from the memory of one container.
  bool pod_memory_hint_from_container = false;
  /// Pod-level resources that name no amount make the QoS class BestEffort.
  bool empty_pod_resources_set_qos_class = false;
  /// A container whose requests exceed those of its pod has an oom_score_adj above 1000.
  bool oom_score_adj_above_1000 = false;
  /// The metric of CPUs by NUMA node has no sample for a node without assigned CPUs.
  bool unused_numa_nodes_have_no_sample = false;

  // Start.

  /// A node does not start if its state names CPUs that are now offline.
  bool offline_cpus_prevent_start = false;
  /// More than 8 NUMA nodes need `max-allowable-numa-nodes`.
  bool numa_nodes_limited_to_8 = false;
  /// With `strict-cpu-reservation`, a node does not start after exclusive CPUs used up the shared
  /// pool.
  bool empty_shared_pool_prevents_start = false;
  /// The CPUs of a pod without containers are never released.
  bool cpus_of_empty_pod_stay_taken = false;
  /// Reserving more memory than a NUMA node has wraps around to a huge allocatable amount.
  bool excess_reserved_memory_wraps_around = false;

  // CPU manager, policy static.

  /// `full-pcpus-only` counts the free cores before it looks for CPUs that the container already
  /// has.
  bool cores_counted_before_known_cpus = false;
  /// `full-pcpus-only` may hand out the siblings of reserved CPUs one by one.
  bool siblings_of_reserved_cpus_allocated = false;
  /// `distribute-cpus-across-numa` ignores `align-by-socket` when it chooses NUMA nodes.
  bool align_by_socket_ignored_in_distribution = false;
  /// `distribute-cpus-across-numa` may use fewer NUMA nodes than the affinity has.
  bool affinity_width_ignored_in_distribution = false;
  /// `distribute-cpus-across-cores` takes a socket's CPUs in the order of their numbers, even if
  /// neighbours share a core.
  bool cores_spread_by_cpu_number = false;
  /// `distribute-cpus-across-numa` overwrites its best combination of NUMA nodes with later ones.
  bool best_numa_combination_overwritten = false;
  /// A socket or core that is larger than the average and has an average number of free CPUs is
  /// taken whole, including CPUs in use.
  bool large_group_taken_with_cpus_in_use = false;
  /// A whole cache, socket or NUMA node that spans two groups of the level above counts twice, so a
  /// container can get fewer CPUs than it requests.
  bool spanning_group_taken_twice = false;
  /// Without `prefer-align-cpus-by-uncorecache` a resize ignores caches, and may split more of them
  /// than it must.
  bool resize_splits_caches = false;

  // Memory manager, policy Static.

  /// Memory written with a fraction, a negative exponent or too many digits is rejected although it
  /// is a whole number of bytes. Only static pods keep their spelling.
  bool memory_spelled_with_fraction_rejected = false;
  /// Finished init containers take memory again when their pod is readmitted.
  bool finished_init_containers_allocate_again = false;
  /// An affinity of one NUMA node that belongs to a group is used unchanged and overwrites the
  /// group.
  bool single_node_overwrites_group = false;
  /// Memory that init containers left for later ones can be reused even after their pod is removed.
  bool reusable_memory_outlives_pod = false;
  /// In a pod with pod-level resources, a container without memory requests still needs NUMA nodes,
  /// and is rejected if no affinity names any.
  bool empty_request_needs_numa_nodes = false;

  friend bool operator==(const Quirks&, const Quirks&) = default;
};

/// A member of Quirks, and the kubelets that have it.
struct Quirk {
  std::string_view name;  ///< name of the member
  bool Quirks::*member;
  Profile last;                 ///< the latest kubelet that has it; all earlier ones have it, too
  std::string_view what;        ///< "a core that is larger than the average is taken whole, ..."
  std::string_view issue = {};  ///< "kubernetes#140495"; empty if none is known
};
/// Returns every quirk, in the order of the members.
[[nodiscard]] std::span<const Quirk> quirk_table();

/// Returns a profile's quirks. The only place where a profile affects anything.
[[nodiscard]] Quirks quirks_of(Profile profile);

}  // namespace pinfold
