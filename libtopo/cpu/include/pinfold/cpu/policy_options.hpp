#pragma once

namespace pinfold {

/// cpuManagerPolicyOptions of the static policy. Each member names the function that applies it.
struct CpuPolicyOptions {
  /// full-pcpus-only: requests must be multiples of the CPUs per core and find as many free whole
  /// cores, else SMTAlignmentError. CpuManager::check_smt_alignment.
  bool full_pcpus_only = false;
  /// distribute-cpus-across-numa: a request that needs several NUMA nodes is spread evenly over
  /// them; with full-pcpus-only in whole cores. take_across_numa, best_choice.
  bool distribute_cpus_across_numa = false;
  /// align-by-socket: an affinity stands for the whole sockets of its NUMA nodes, and hints within
  /// the fewest sockets are preferred, too; with distribute-cpus-across-numa, so are NUMA nodes of
  /// one socket. CpuManager::near_affinity, make_hints, best_choice.
  bool align_by_socket = false;
  /// distribute-cpus-across-cores: no whole cores are taken, but single CPUs, socket by socket, one
  /// of each core in turn. Accumulator::take_across_cores.
  bool distribute_cpus_across_cores = false;
  /// strict-cpu-reservation: the shared pool has no reserved CPUs. CpuManager::start.
  bool strict_cpu_reservation = false;
  /// prefer-align-cpus-by-uncorecache: before cores, whole last-level caches are taken, then one
  /// cache that has all the rest. Accumulator::take_by_cache.
  bool prefer_align_cpus_by_uncorecache = false;

  friend bool operator==(const CpuPolicyOptions&, const CpuPolicyOptions&) = default;
};

}  // namespace pinfold
