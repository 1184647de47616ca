#include "pinfold/types/named.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "pinfold/types/quantity.hpp"

namespace pinfold {

std::string cpus_named(const CpuSet& cpus) {
  if (cpus.empty()) return "no CPUs";
  return fmt::format("{} {}", one_or_more(cpus, "CPU", "CPUs"), cpus.to_string());
}

std::string_view one_or_more(const CpuSet& cpus, std::string_view one, std::string_view more) {
  return cpus.size() == 1 ? one : more;
}

std::string numa_nodes_named(std::span<const std::int32_t> ids) {
  return fmt::format("NUMA node{} {}", ids.size() == 1 ? "" : "s", fmt::join(ids, ","));
}

std::string numa_nodes_named(const CpuSet& ids) {
  return fmt::format("NUMA {} {}", one_or_more(ids, "node", "nodes"), ids.to_string());
}

std::string bytes_named(std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto amount = static_cast<std::int64_t>(std::min(bytes, kMost));
  const std::string text = Quantity::bytes(amount).to_string();
  return text == std::to_string(amount) ? text + " bytes" : text;
}

}  // namespace pinfold
