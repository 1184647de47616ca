#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/decide/decide.hpp"

namespace pinfold::agent {

/// Upper bounds of the kubelet's topology_manager_admission_duration_ms, in milliseconds: 0.05,
/// then doubling each time. The last bucket has no bound.
[[nodiscard]] std::span<const double> admission_duration_bounds();

/// The counts of an agent since its state directory was made. A plain value.
struct Metrics {
  static constexpr std::size_t kBuckets = 16;  ///< one for each bound, and one above

  Counts counts;
  std::array<std::uint64_t, kBuckets> durations{};  ///< of admissions, not cumulative
  std::uint64_t duration_sum_ms = 0;

  /// Records the duration of one admission in whole milliseconds, like the kubelet.
  void observe(std::chrono::nanoseconds duration);

  friend bool operator==(const Metrics&, const Metrics&) = default;
};

/// How a counter is exposed.
struct CounterName {
  Counter counter;
  std::string_view family;
  std::vector<std::pair<std::string_view, std::string_view>> labels;
  std::string_view help;
  /// Whether the kubelet exposes it at zero if the manager that counts it is in use.
  bool starts_at_zero = true;
  /// In the side file and the text format: "family{label="value",...}".
  std::string sample = {};
};
/// Returns one entry per counter, grouped by family.
/// Source: kubelet v1.36 pkg/kubelet/metrics/metrics.go.
[[nodiscard]] const std::vector<CounterName>& counter_names();

/// The kubelet's gauges of the static CPU manager, computed from a state as at its start.
struct CpuGauges {
  std::uint64_t shared_pool_millicores = 0;
  std::uint64_t exclusive_cpus = 0;  ///< CPUs of every assignment
  /// Exclusive CPUs per NUMA node, by OS id. As in the kubelet, CPUs of pods with a pod-level
  /// reservation do not count.
  std::map<std::int32_t, std::uint64_t> cpus_by_node;
};
[[nodiscard]] CpuGauges cpu_gauges(const Node& node, const NodeState& state);

/// The side file with the counts: JSON, {"version": 1, "counts": {sample: n}, ...}.
inline constexpr std::string_view kMetricsFileName = ".pinfold_metrics";
[[nodiscard]] std::string encode_metrics(const Metrics& metrics);
/// Ignores unknown samples. Errors: kCorrupt.
[[nodiscard]] Result<Metrics> decode_metrics(std::string_view text);

}  // namespace pinfold::agent
