#pragma once

namespace pinfold {

/// cpuManagerPolicyOptions of the static policy. Each member names the functions that apply it.
struct CpuPolicyOptions {
  /// full-pcpus-only: a request must be a multiple of the CPUs per core and fit into the free whole
  /// cores, else SMTAlignmentError. CpuPolicy::check_cores.
  bool full_pcpus_only = false;
  /// distribute-cpus-across-numa: a request that needs several NUMA nodes is spread evenly over
  /// them, with full-pcpus-only in whole cores. take_across_numa, best_choice.
  bool distribute_cpus_across_numa = false;
  /// align-by-socket: an affinity includes the whole sockets of its NUMA nodes, and hints within
  /// the fewest sockets are preferred, too. With distribute-cpus-across-numa, NUMA nodes of one
  /// socket are preferred. CpuPolicy::near, CpuRule, best_choice.
  bool align_by_socket = false;
  /// distribute-cpus-across-cores: takes single CPUs instead of whole cores, socket by socket, one
  /// from each core in turn. Taker::take_across_cores.
  bool distribute_cpus_across_cores = false;
  /// strict-cpu-reservation: the shared pool excludes the reserved CPUs. CpuManager::start.
  bool strict_cpu_reservation = false;
  /// prefer-align-cpus-by-uncorecache: before cores, takes whole last-level caches, then one cache
  /// that has all the rest. Taker::take_by_cache.
  bool prefer_align_cpus_by_uncorecache = false;

  friend bool operator==(const CpuPolicyOptions&, const CpuPolicyOptions&) = default;
};

}  // namespace pinfold
