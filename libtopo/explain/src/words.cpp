#include "words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <set>

#include "pinfold/decide/allocatable.hpp"

namespace pinfold {

std::string readable(const Quantity& amount, AmountRounding rounding) {
  constexpr std::int64_t kMi = std::int64_t{1} << 20U;
  if (amount.format() != Quantity::Format::kBinarySi) return amount.to_string();
  const std::int64_t bytes = amount.value();
  const bool is_largest =
      bytes > std::numeric_limits<std::int64_t>::max() - kMi;  // a capped amount
  if (bytes < kMi || bytes % kMi == 0 || is_largest) return amount.to_string();
  const std::int64_t mebibytes = bytes / kMi + (rounding == AmountRounding::kUp ? 1 : 0);
  return Quantity::bytes(mebibytes * kMi).to_string();
}

}  // namespace pinfold

namespace pinfold::explain_detail {

std::string name_of(const PodSpec& pod) { return pod.namespace_name + "/" + pod.name; }

std::string name_of(const NodeState& state, const PodUid& uid) {
  return to_string(ref_of(state, uid));
}

std::string of_resource(const Quantity& amount, const std::string& resource,
                        AmountRounding rounding) {
  const std::string text = readable(amount, rounding);
  const bool is_one = text == "1" || text.ends_with("m");  // "100m CPU"
  if (resource == "cpu") return text + (is_one ? " CPU" : " CPUs");
  return text + (is_memory_resource(resource) ? " of " : " ") + resource;
}

std::string numa_nodes(const std::vector<std::int32_t>& ids) {
  if (ids.empty()) return "the node";
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (const std::int32_t id : ids) names.push_back(std::to_string(id));
  return fmt::format("NUMA node{} {}", ids.size() == 1 ? "" : "s", listed(names));
}

std::string core_sizes(const Machine& machine) {
  std::set<std::size_t> sizes;
  for (const Machine::Group& core : machine.cores()) sizes.insert(core.cpus.size());
  return fmt::format("{}", fmt::join(sizes, " or "));
}

std::vector<std::string> core_kinds(const Machine& machine, const CpuSet& cpus) {
  std::vector<std::string> parts;
  const auto& kinds = machine.description().core_kinds;
  if (!kinds) return parts;
  for (const CoreKind& kind : *kinds) {
    const CpuSet here = kind.cpus & cpus;
    if (!here.empty()) parts.push_back(kind.name + " " + here.to_string());
  }
  return parts;
}

std::string pods_limit(const Node& node) {
  const Config& config = node.config();
  const auto cpus = static_cast<std::int64_t>(node.machine().cpus().size());
  const std::int64_t allowed = allowed_pods(node).value_or(0);
  std::vector<std::string> names;
  if (config.max_pods == allowed) names.emplace_back("maxPods");
  if (config.pods_per_core > 0 && config.pods_per_core * cpus == allowed) {
    names.push_back(fmt::format("podsPerCore: {} on {} CPU{}", config.pods_per_core, cpus,
                                cpus == 1 ? "" : "s"));
  }
  return fmt::format("{} allow{} {}", listed(names), names.size() == 1 ? "s" : "", allowed);
}

}  // namespace pinfold::explain_detail
