#include "pinfold/api/profile.hpp"

#include <fmt/format.h>

#include "pinfold/text/field.hpp"

namespace pinfold {
namespace {

constexpr Quirks kubelet_1_36() {
  Quirks quirks;
  quirks.rejected_pod_keeps_resources = true;
  quirks.removed_pod_keeps_unstarted_containers = true;
  quirks.policy_none_releases_stale_late = true;
  quirks.devices_return_with_pod = true;
  quirks.readmitted_pod_allocates_again = true;
  quirks.offline_cpus_prevent_start = true;
  quirks.numa_nodes_limited_to_8 = true;
  quirks.empty_shared_pool_prevents_start = true;
  quirks.cpus_of_empty_pod_stay_taken = true;
  quirks.excess_reserved_memory_wraps_around = true;
  quirks.cores_counted_before_known_cpus = true;
  quirks.siblings_of_reserved_cpus_allocated = true;
  quirks.best_numa_combination_overwritten = true;
  quirks.large_group_taken_with_cpus_in_use = true;
  quirks.spanning_group_taken_twice = true;
  quirks.finished_init_containers_allocate_again = true;
  quirks.single_node_overwrites_group = true;
  quirks.reusable_memory_outlives_pod = true;
  quirks.empty_request_needs_numa_nodes = true;
  return quirks;
}

}  // namespace

std::string_view to_string(Profile profile) {
  switch (profile) {
    case Profile::kKubelet136:
      return "kubelet-1.36";
    case Profile::kFixed:
      break;
  }
  return "fixed";
}

Result<Profile> parse_profile(std::string_view text) {
  for (const Profile profile : {Profile::kKubelet136, Profile::kFixed}) {
    if (text == to_string(profile)) return profile;
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected 'kubelet-1.36' or 'fixed'", printable(text)));
}

Quirks quirks_of(Profile profile) {
  switch (profile) {
    case Profile::kKubelet136:
      return kubelet_1_36();
    case Profile::kFixed:
      break;
  }
  return {};
}

}  // namespace pinfold
