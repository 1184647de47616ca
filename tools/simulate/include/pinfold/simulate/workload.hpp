#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/simulate/pods.hpp"

/// Made-up pods that arrive and go: docs/simulate.md has the mixes.
namespace pinfold::simulate {

/// Pods of one kind in a mix. Each of its containers has these requests.
struct Shape {
  const char* name = "";
  QosClass qos = QosClass::kGuaranteed;  ///< guaranteed: limits equal requests
  std::size_t weight = 0;                ///< of the pods of a mix, relative to the other shapes
  std::size_t containers = 1;
  std::int64_t milli_cpu = 0;
  std::int64_t memory_mib = 0;
  std::size_t lifetime = 0;  ///< mean, in arrivals of pods
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
  std::size_t lifetime = 100;  ///< percent of the lifetimes of the mix; 0: no pod goes
};
/// "general", "pinned:seed=7,pods=1000,lifetime=50".
/// Errors: kInvalidArgument with the value and what was expected.
[[nodiscard]] Result<Workload> parse_workload(std::string_view text);

/// The events of a workload: the same on every machine, whatever nodes do with the pods.
[[nodiscard]] std::vector<Event> events_of(const Workload& workload);

}  // namespace pinfold::simulate
