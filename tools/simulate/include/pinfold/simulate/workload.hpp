#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/simulate/pods.hpp"

/// Synthetic pods that arrive and leave. docs/simulate.md describes the mixes.
namespace pinfold::simulate {

/// Pods of one kind in a mix. Each of its containers has these requests.
struct Shape {
  const char* name = "";
  QosClass qos = QosClass::kGuaranteed;  ///< Guaranteed: limits equal requests
  std::size_t weight = 0;                ///< share of the mix, relative to the other shapes
  std::size_t containers = 1;
  std::int64_t milli_cpu = 0;
  std::int64_t memory_mib = 0;
  std::size_t lifetime = 0;  ///< mean lifetime, in arrivals of pods
};
struct Mix {
  const char* name = "";
  std::vector<Shape> shapes;
};
[[nodiscard]] const std::vector<Mix>& mixes();

struct Workload {
  Mix mix;
  std::uint64_t seed = 1;
  std::size_t pods = 100;
  std::size_t lifetime = 100;  ///< percent of the lifetimes in the mix; 0: no pod leaves
};
/// Parses "general" or "pinned:seed=7,pods=1000,lifetime=50".
/// Errors: kInvalidArgument with the value and what was expected.
[[nodiscard]] Result<Workload> parse_workload(std::string_view text);

/// Parses a number of a workload or of a plan. Errors: kInvalidArgument, "'x': expected 1 to 100".
[[nodiscard]] Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t least,
                                                 std::uint64_t most);

/// Returns the events of a workload. They are the same on every machine, and do not depend on the
/// nodes' decisions.
[[nodiscard]] std::vector<PodEvent> events_of(const Workload& workload);

}  // namespace pinfold::simulate
