/* The numbers and offsets that are compiled into programs. A change here breaks all of them:
 * append members, and never reuse a number. */
#include <pinfold/pinfold.h>
#include <stdio.h>

#define NUMBER(name, value) _Static_assert((name) == (value), #name " is frozen")
#define SIZE(type, size) _Static_assert(sizeof(type) >= (size), #type " may only grow")
#define AT(type, member, offset) \
  _Static_assert(offsetof(type, member) == (offset), #type "." #member " is frozen")

NUMBER(PINFOLD_OK, 0);
NUMBER(PINFOLD_INVALID_ARGUMENT, 1);
NUMBER(PINFOLD_NOT_FOUND, 2);
NUMBER(PINFOLD_CORRUPT, 3);
NUMBER(PINFOLD_IO, 4);
NUMBER(PINFOLD_UNSUPPORTED, 5);
NUMBER(PINFOLD_INTERNAL, 6);
NUMBER(PINFOLD_BUSY, 7);
NUMBER(PINFOLD_NO_MEMORY, 100);
NUMBER(PINFOLD_REJECTED, 101);
NUMBER(PINFOLD_NOT_ENFORCED, 102);
NUMBER(PINFOLD_NOT_SETTLED, 103);
NUMBER(PINFOLD_UNKNOWN, 104);
NUMBER(PINFOLD_LOG_DEBUG, 0);
NUMBER(PINFOLD_LOG_INFO, 1);
NUMBER(PINFOLD_LOG_WARNING, 2);
NUMBER(PINFOLD_LOG_ERROR, 3);
NUMBER(PINFOLD_NODE_NO_ENFORCE, 1);
NUMBER(PINFOLD_NODE_INSECURE_STATE_DIR, 2);
NUMBER(PINFOLD_NODE_KEEP_AFFINITY, 8);
NUMBER(PINFOLD_NODE_DEFER, 16);
NUMBER(PINFOLD_NODE_READ_ONLY, 4);
NUMBER(PINFOLD_REMOVE_KILL, 1);
NUMBER(PINFOLD_RECONFIGURE_DRY_RUN, 1);
NUMBER(PINFOLD_RECONFIGURE_KILL, 2);
NUMBER(PINFOLD_RECONFIGURE_UNDO, 4);
NUMBER(PINFOLD_RECONFIGURE_EVICT_LOST, 8);
NUMBER(PINFOLD_RECONFIGURE_EVICT_REJECTED, 16);
NUMBER(PINFOLD_ISOLATION_HOST, 0);
NUMBER(PINFOLD_ISOLATION_POD, 1);
NUMBER(PINFOLD_ISOLATION_CONTAINER, 2);
NUMBER(PINFOLD_HAS_CPU_QUOTA, 1);
NUMBER(PINFOLD_HAS_CPU_PERIOD, 2);
NUMBER(PINFOLD_HAS_MEMORY_LIMIT, 4);
NUMBER(PINFOLD_HAS_OOM_SCORE_ADJ, 8);
_Static_assert(sizeof(pinfold_code) == 4, "pinfold_code is frozen");

#if defined(__LP64__)
SIZE(pinfold_log_sink, 24);
AT(pinfold_log_sink, struct_size, 0);
AT(pinfold_log_sink, data, 8);
AT(pinfold_log_sink, log, 16);
SIZE(pinfold_hint_provider, 48);
AT(pinfold_hint_provider, data, 8);
AT(pinfold_hint_provider, name, 16);
AT(pinfold_hint_provider, get_hints, 24);
AT(pinfold_hint_provider, allocate, 32);
AT(pinfold_hint_provider, release, 40);
SIZE(pinfold_cgroup_fs, 64);
AT(pinfold_cgroup_fs, data, 8);
AT(pinfold_cgroup_fs, cgroup_version, 16);
AT(pinfold_cgroup_fs, create_cgroup, 24);
AT(pinfold_cgroup_fs, remove_cgroup, 32);
AT(pinfold_cgroup_fs, write_file, 40);
AT(pinfold_cgroup_fs, read_file, 48);
AT(pinfold_cgroup_fs, list_children, 56);
SIZE(pinfold_request, 80);
AT(pinfold_request, manifest, 8);
AT(pinfold_request, container, 16);
AT(pinfold_request, uid, 24);
AT(pinfold_request, name, 32);
AT(pinfold_request, pod_namespace, 40);
AT(pinfold_request, milli_cpu, 48);
AT(pinfold_request, memory_bytes, 56);
AT(pinfold_request, hugepages, 64);
AT(pinfold_request, hugepage_count, 72);
SIZE(pinfold_reconfiguration, 32);
AT(pinfold_reconfiguration, flags, 8);
AT(pinfold_reconfiguration, config, 16);
AT(pinfold_reconfiguration, machine, 24);
SIZE(pinfold_node_options, 104);
AT(pinfold_node_options, flags, 8);
AT(pinfold_node_options, lock_timeout_ms, 12);
AT(pinfold_node_options, state_dir, 16);
AT(pinfold_node_options, cgroup_root, 24);
AT(pinfold_node_options, config, 32);
AT(pinfold_node_options, config_file, 40);
AT(pinfold_node_options, machine, 48);
AT(pinfold_node_options, log_sink, 56);
AT(pinfold_node_options, hint_providers, 64);
AT(pinfold_node_options, hint_provider_count, 72);
AT(pinfold_node_options, cgroup_fs, 80);
AT(pinfold_node_options, socket, 88);
AT(pinfold_node_options, interrupted, 96);
_Static_assert(sizeof(pinfold_hugepage_limit) == 16, "pinfold_hugepage_limit never grows");
AT(pinfold_hugepage_limit, bytes, 8);
SIZE(pinfold_container, 128);
AT(pinfold_container, name, 8);
AT(pinfold_container, cpus, 16);
AT(pinfold_container, mems, 24);
AT(pinfold_container, exclusive_cpus, 32);
AT(pinfold_container, isolation, 40);
AT(pinfold_container, has, 44);
AT(pinfold_container, cpu_quota_us, 48);
AT(pinfold_container, cpu_period_us, 56);
AT(pinfold_container, cpu_shares, 64);
AT(pinfold_container, cpu_weight, 72);
AT(pinfold_container, memory_limit_bytes, 80);
AT(pinfold_container, oom_score_adj, 88);
AT(pinfold_container, hugepage_limits, 96);
AT(pinfold_container, hugepage_limit_count, 104);
AT(pinfold_container, cgroup, 112);
AT(pinfold_container, cgroup_path, 120);
#endif

int main(void) {
  /* The macros initialise every member. */
  const pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  const pinfold_container container = PINFOLD_CONTAINER_INIT;
  const pinfold_log_sink sink = PINFOLD_LOG_SINK_INIT;
  const pinfold_hint_provider provider = PINFOLD_HINT_PROVIDER_INIT;
  const pinfold_cgroup_fs cgroup_fs = PINFOLD_CGROUP_FS_INIT;
  printf("%s %zu %zu %zu %zu %zu\n", pinfold_version(), options.struct_size, container.struct_size,
         sink.struct_size, provider.struct_size, cgroup_fs.struct_size);
  return 0;
}
