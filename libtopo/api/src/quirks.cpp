#include <array>

#include "pinfold/api/profile.hpp"

// A separate file, which needs no other: libpinfold-decide is built from it.

namespace pinfold {
namespace {

constexpr std::array kQuirks = {
    Quirk{"rejected_pod_keeps_resources", &Quirks::rejected_pod_keeps_resources,
          Profile::kKubelet138,
          "a rejected pod keeps what it was given before the step that failed, until the next "
          "admission"},
    Quirk{"removed_pod_keeps_unstarted_containers", &Quirks::removed_pod_keeps_unstarted_containers,
          Profile::kKubelet138,
          "containers of a removed pod that never ran keep their CPUs and memory until the next "
          "admission"},
    Quirk{
        "policy_none_releases_stale_late", &Quirks::policy_none_releases_stale_late,
        Profile::kKubelet138,
        "with topology policy none each manager releases stale assignments only when it allocates"},
    Quirk{"removed_pod_keeps_devices", &Quirks::removed_pod_keeps_devices, Profile::kKubelet138,
          "the devices of a removed pod stay taken until the next admission, and a new pod with "
          "its UID gets them"},
    Quirk{"devices_return_with_pod", &Quirks::devices_return_with_pod, Profile::kKubelet138,
          "a container's devices are released only with its pod"},
    Quirk{"readmitted_pod_takes_cpus_again", &Quirks::readmitted_pod_takes_cpus_again,
          Profile::kKubelet137,
          "a pod with pod-level resources that is admitted again takes CPUs a second time",
          "kubernetes#140989"},
    Quirk{"readmitted_pod_takes_memory_again", &Quirks::readmitted_pod_takes_memory_again,
          Profile::kKubelet137,
          "a pod with pod-level resources that is admitted again takes memory a second time",
          "kubernetes#140906"},
    Quirk{"stale_state_kept_until_pods_are_known", &Quirks::stale_state_kept_until_pods_are_known,
          Profile::kKubelet138,
          "a starting kubelet admits the running pods before it releases stale assignments"},
    Quirk{"pod_memory_hint_from_container", &Quirks::pod_memory_hint_from_container,
          Profile::kKubelet137,
          "the memory hint of a pod that is admitted again counts only one container",
          "kubernetes#141069"},
    Quirk{"empty_pod_resources_set_qos_class", &Quirks::empty_pod_resources_set_qos_class,
          Profile::kKubelet136,
          "pod-level resources that name no amount make the QoS class BestEffort",
          "kubernetes#137150"},
    Quirk{"oom_score_adj_above_1000", &Quirks::oom_score_adj_above_1000, Profile::kKubelet138,
          "a container that requests more than its pod gets an oom_score_adj above 1000"},
    Quirk{"unused_numa_nodes_have_no_sample", &Quirks::unused_numa_nodes_have_no_sample,
          Profile::kKubelet137,
          "the metric of CPUs by NUMA node has no sample for a node without assigned CPUs",
          "kubernetes#141261"},
    Quirk{"offline_cpus_prevent_start", &Quirks::offline_cpus_prevent_start, Profile::kKubelet138,
          "a node whose state names CPUs that are offline does not start"},
    Quirk{"numa_nodes_limited_to_8", &Quirks::numa_nodes_limited_to_8, Profile::kKubelet138,
          "more than 8 NUMA nodes need max-allowable-numa-nodes"},
    Quirk{"empty_shared_pool_prevents_start", &Quirks::empty_shared_pool_prevents_start,
          Profile::kKubelet138,
          "with strict-cpu-reservation a node does not start after exclusive CPUs have used up the "
          "shared pool"},
    Quirk{"cpus_of_empty_pod_stay_taken", &Quirks::cpus_of_empty_pod_stay_taken,
          Profile::kKubelet138, "the CPUs of a pod that has no containers left are never released"},
    Quirk{"excess_reserved_memory_wraps_around", &Quirks::excess_reserved_memory_wraps_around,
          Profile::kKubelet138,
          "reserved memory above what a NUMA node has wraps around to a huge allocatable amount"},
    Quirk{"cores_counted_before_known_cpus", &Quirks::cores_counted_before_known_cpus,
          Profile::kKubelet138,
          "full-pcpus-only counts the free cores before it looks for the CPUs that the container "
          "has"},
    Quirk{"siblings_of_reserved_cpus_allocated", &Quirks::siblings_of_reserved_cpus_allocated,
          Profile::kKubelet138, "full-pcpus-only hands out siblings of reserved CPUs one by one"},
    Quirk{"align_by_socket_ignored_in_distribution",
          &Quirks::align_by_socket_ignored_in_distribution, Profile::kKubelet136,
          "distribute-cpus-across-numa chooses NUMA nodes without regard to align-by-socket",
          "kubernetes#114642"},
    Quirk{"affinity_width_ignored_in_distribution", &Quirks::affinity_width_ignored_in_distribution,
          Profile::kKubelet137,
          "distribute-cpus-across-numa uses fewer NUMA nodes than the affinity has",
          "kubernetes#139430"},
    Quirk{"cores_spread_by_cpu_number", &Quirks::cores_spread_by_cpu_number, Profile::kKubelet137,
          "distribute-cpus-across-cores takes CPUs by their numbers, where neighbours can share a "
          "core",
          "kubernetes#140688"},
    Quirk{
        "best_numa_combination_overwritten", &Quirks::best_numa_combination_overwritten,
        Profile::kKubelet137,
        "distribute-cpus-across-numa overwrites its best combination of NUMA nodes with later ones",
        "kubernetes#141237"},
    Quirk{"large_group_taken_with_cpus_in_use", &Quirks::large_group_taken_with_cpus_in_use,
          Profile::kKubelet138,
          "a socket or core that is larger than the average, and has an average number of free "
          "CPUs, is taken whole, including CPUs in use",
          "kubernetes#140495"},
    Quirk{"spanning_group_taken_twice", &Quirks::spanning_group_taken_twice, Profile::kKubelet138,
          "a cache, socket or NUMA node that spans two groups of the level above counts twice, so "
          "the container gets fewer CPUs than it requests"},
    Quirk{"resize_splits_caches", &Quirks::resize_splits_caches, Profile::kKubelet138,
          "a resize without prefer-align-cpus-by-uncorecache may split more caches than it must"},
    Quirk{"memory_spelled_with_fraction_rejected", &Quirks::memory_spelled_with_fraction_rejected,
          Profile::kKubelet138,
          "memory written with a fraction, a negative exponent or too many digits is rejected"},
    Quirk{"finished_init_containers_allocate_again",
          &Quirks::finished_init_containers_allocate_again, Profile::kKubelet138,
          "finished init containers take memory again when their pod is admitted again"},
    Quirk{"single_node_overwrites_group", &Quirks::single_node_overwrites_group,
          Profile::kKubelet138,
          "an affinity of one NUMA node that belongs to a group overwrites the group"},
    Quirk{"reusable_memory_outlives_pod", &Quirks::reusable_memory_outlives_pod,
          Profile::kKubelet138,
          "memory left by init containers can still be reused after their pod is removed"},
    Quirk{"empty_request_needs_numa_nodes", &Quirks::empty_request_needs_numa_nodes,
          Profile::kKubelet138,
          "a container without memory requests in a pod with pod-level resources still needs NUMA "
          "nodes"},
};

}  // namespace

std::span<const Quirk> quirk_table() { return kQuirks; }

Quirks quirks_of(Profile profile) {
  Quirks quirks;
  for (const Quirk& quirk : kQuirks) quirks.*quirk.member = profile <= quirk.last;
  return quirks;
}

}  // namespace pinfold
