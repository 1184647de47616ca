# The C++ headers that are installed, below pinfold/; all others are private: docs/adr/0042-two-tiers-of-headers.md.
# tests/package/check_headers compares both lists with the includes and with docs/embedding.md.

# The stable ones, which docs/embedding.md lists.
set(PINFOLD_STABLE_HEADERS
  agent/node_agent.hpp
  agent/open_agent.hpp
  agent/options.hpp
  agent/reconcile.hpp
  agent/reconfiguration.hpp
  agent/status.hpp
  api/config.hpp
  api/hint_provider.hpp
  api/pod.hpp
  base/result.hpp
  checkpoint/inspect.hpp
  decide/container_resources.hpp
  decide/decide.hpp
  decide/linux_resources.hpp
  decide/node.hpp
  discover/discover.hpp
  enforce/cgroup_fs.hpp
  enforce/cgroups.hpp
  enforce/plan.hpp
  explain/explanation.hpp
  machine/machine.hpp
  pinfold.hpp
  predict/pod_query.hpp
  types/cpuset.hpp
  types/quantity.hpp
)

# What the stable ones include, because they have these types in their members or results. May change with any version.
set(PINFOLD_DETAIL_HEADERS
  agent/desired.hpp
  agent/durations.hpp
  agent/log.hpp
  agent/measured_container.hpp
  agent/node_view.hpp
  agent/observed_container.hpp
  agent/profile_source.hpp
  agent/reconcile_report.hpp
  align/topology_manager.hpp
  api/amounts.hpp
  api/profile.hpp
  api/reservation.hpp
  api/topology_policy.hpp
  checkpoint/fs.hpp
  checkpoint/kubelet_files.hpp
  cpu/cpu_manager.hpp
  decide/active_pods.hpp
  decide/counts.hpp
  decide/decision.hpp
  decide/keep.hpp
  decide/node_state.hpp
  decide/resize.hpp
  decide/stale.hpp
  device/device_manager.hpp
  discover/source.hpp
  enforce/affinity.hpp
  enforce/control_values.hpp
  enforce/cpu_quota.hpp
  enforce/group.hpp
  enforce/layout.hpp
  enforce/mounts.hpp
  enforce/process_table.hpp
  explain/remedy.hpp
  machine/description.hpp
  memory/memory_manager.hpp
  memory/memory_state.hpp
  place/cpu_policy_options.hpp
  predict/bound_pods.hpp
  predict/evaluator.hpp
  predict/fleet.hpp
  predict/node_topology.hpp
  predict/placement.hpp
  predict/scoring_strategy.hpp
  quiet/quiet_level.hpp
  reconfigure/reconfigure.hpp
  types/choices.hpp
  types/container_id.hpp
  types/container_map.hpp
  types/hint.hpp
  types/ids.hpp
  types/numa_mask.hpp
  types/pod_ref.hpp
  types/rejection.hpp
  types/shared_vector.hpp
  types/trace.hpp
)

# With pinfold::nri, the protocol of NRI plugins.
if(PINFOLD_NRI)
  list(APPEND PINFOLD_STABLE_HEADERS
    nri/messages.hpp
    nri/plugin.hpp
    nri/session.hpp
  )
  list(APPEND PINFOLD_DETAIL_HEADERS
    nri/ttrpc.hpp
  )
endif()
