#include "pinfold/api/amounts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pinfold/api/pod.hpp"

namespace pinfold {

std::string describe_place(const PlaceAmounts& place) {
  if (place.numa_nodes.empty()) return "no NUMA node";
  return fmt::format("NUMA {}", fmt::join(place.numa_nodes, ","));
}

std::string describe(const Amounts& amounts) {
  const std::string needed = amounts.needed.to_string();
  const bool is_cpu = amounts.resource == "cpu";
  const bool is_memory = is_memory_resource(amounts.resource);
  std::string text = is_cpu      ? fmt::format("needs {} CPUs", needed)
                     : is_memory ? fmt::format("needs {} of {}", needed, amounts.resource)
                                 : fmt::format("needs {} {}", needed, amounts.resource);
  for (const PlaceAmounts& place : amounts.places) {
    text += fmt::format("; {}: {} free, {} held", describe_place(place), place.free.to_string(),
                        place.held.to_string());
    if (is_cpu || is_memory) text += fmt::format(", {} reserved", place.reserved.to_string());
  }
  return text;
}

}  // namespace pinfold
