#include "pinfold/types/named.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

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

std::vector<std::string> first_named(std::vector<std::string> names, std::size_t most,
                                     std::string_view rest) {
  if (names.size() <= most + 1) return names;
  const std::size_t left_out = names.size() - most;
  names.resize(most);
  names.push_back(fmt::format("{} {}", left_out, rest));
  return names;
}

std::string some_named(std::vector<std::string> names, std::size_t most) {
  const std::size_t all = names.size();
  names = first_named(std::move(names), most, "more");
  return names.size() < all ? listed(names) : fmt::format("{}", fmt::join(names, ", "));
}

std::string listed(const std::vector<std::string>& parts) {
  if (parts.size() < 2) return fmt::format("{}", fmt::join(parts, ""));
  return fmt::format("{} and {}", fmt::join(parts.begin(), parts.end() - 1, ", "), parts.back());
}

}  // namespace pinfold
