#include "machine/copy_memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace pinfold::harness {
namespace {

constexpr std::uint64_t kDefaultBudget = 4096 * kMiB;
constexpr std::uint64_t kFirstNodeMiB = 256;  // kernel and initramfs
constexpr std::uint64_t kNodeMiB = 64;
constexpr std::uint64_t kEmptyNodeMiB = 32;
constexpr std::uint64_t kHugePage = 2 * kMiB;
constexpr std::uint64_t kGiantPage = 1024 * kMiB;
/// With less memory the kernel finds no free gibibyte on the first node.
constexpr std::uint64_t kFirstNodeWithGiantPages = 4 * kGiantPage;

const NumaNode& source_node(const MachineCopy& copy, std::size_t i, const Machine& source) {
  const int position = source.numa_position(copy.nodes[i]).value_or(0);
  return source.numa_nodes()[static_cast<std::size_t>(position)];
}

struct MemoryShare {
  std::uint64_t wanted = 0;  ///< MiB
  std::uint64_t least = 0;   ///< MiB
};

/// Splits a budget in proportion to the wanted amounts; no share is below its minimum.
/// Domain: the minimums fit into the budget.
std::vector<std::uint64_t> split(const std::vector<MemoryShare>& shares, std::uint64_t budget) {
  std::vector<std::uint64_t> parts(shares.size(), 0);
  std::vector<bool> fixed(shares.size(), false);
  for (bool again = true; again;) {
    std::uint64_t left = budget;
    std::uint64_t wanted = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (fixed[i]) {
        left -= shares[i].least;
      } else {
        wanted += shares[i].wanted;
      }
    }
    again = false;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (fixed[i]) continue;
      // At most the wanted amount; doubles hold MiB exactly.
      const double ratio = std::min(1.0, static_cast<double>(left) / static_cast<double>(wanted));
      parts[i] = static_cast<std::uint64_t>(static_cast<double>(shares[i].wanted) * ratio);
      if (parts[i] >= shares[i].least) continue;
      parts[i] = shares[i].least;
      fixed[i] = again = true;
    }
  }
  return parts;
}

/// Formats an amount: "12.5 GiB".
std::string amount(std::uint64_t mebibytes) {
  return mebibytes < 10240 ? fmt::format("{} MiB", mebibytes)
                           : fmt::format("{:.4g} GiB", static_cast<double>(mebibytes) / 1024);
}

std::vector<MemoryShare> shares_of(const MachineCopy& copy, const Machine& source) {
  std::vector<MemoryShare> shares;
  for (std::size_t i = 0; i < copy.nodes.size(); ++i) {
    const std::uint64_t memory = source_node(copy, i, source).memory;
    const bool bare = copy.machine.nodes[i].cpus.empty();
    const std::uint64_t least = i == 0       ? kFirstNodeMiB
                                : memory > 0 ? kNodeMiB
                                : bare       ? kEmptyNodeMiB
                                             : 0;
    shares.push_back({memory / kMiB, least});
  }
  return shares;
}

/// Formats a list of NUMA nodes: "0-3,8".
std::string ids_of(const std::vector<std::int32_t>& nodes) {
  CpuSet ids;
  for (const std::int32_t node : nodes) ids.insert(CpuId{node});
  return ids.to_string();
}

/// Reports nodes whose sizes differ from the source's; groups those with the same two sizes.
void compare_sizes(MachineCopy& copy, const Machine& source,
                   const std::vector<std::uint64_t>& parts) {
  using Nodes = std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>;
  std::map<std::pair<std::string, std::string>, Nodes> changed;
  std::vector<std::int32_t> rounded;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const NumaNode& node = source_node(copy, i, source);
    if (node.memory == parts[i] * kMiB) continue;
    if (node.memory / kMiB == parts[i]) {
      rounded.push_back(node.id.value);
      continue;
    }
    auto& [theirs, ours] = changed[{amount(node.memory / kMiB), amount(parts[i])}];
    theirs.push_back(node.id.value);
    ours.push_back(static_cast<std::int32_t>(i));
  }
  for (const auto& [sizes, nodes] : changed) {
    copy.differences.push_back({"memory",
                                fmt::format("{} on NUMA node {}", sizes.first, ids_of(nodes.first)),
                                fmt::format("{} on node {}", sizes.second, ids_of(nodes.second))});
  }
  if (!rounded.empty()) {
    copy.differences.push_back(
        {"memory", fmt::format("no whole number of MiB on NUMA node {}", ids_of(rounded)),
         "rounded down"});
  }
}

/// Compares the sizes of huge pages, whether or not any are reserved.
void compare_page_sizes(MachineCopy& copy, const Machine& source) {
  std::set<std::string> theirs;
  for (const NumaNode& node : source.numa_nodes()) {
    for (const auto& [resource, bytes] : node.hugepages) theirs.insert(resource);
  }
  std::set<std::string> ours = {"hugepages-2Mi"};
  for (const VmNode& node : copy.machine.nodes) {
    if (node.huge_pages.contains(kGiantPage)) ours.insert("hugepages-1Gi");
  }
  if (theirs.empty() || theirs == ours) return;
  copy.differences.push_back({"hugePageSizes", fmt::format("{}", fmt::join(theirs, ", ")),
                              fmt::format("{}", fmt::join(ours, ", "))});
}

void compare_memory(MachineCopy& copy, const std::vector<MemoryShare>& shares,
                    const std::vector<std::uint64_t>& parts) {
  std::uint64_t wanted = 0;
  std::uint64_t total = 0;
  CpuSet empty;   // NUMA nodes of the copy
  CpuSet raised;  // also NUMA nodes of the copy
  for (std::size_t i = 0; i < shares.size(); ++i) {
    wanted += shares[i].wanted;
    total += parts[i];
    if (parts[i] != shares[i].least || parts[i] == shares[i].wanted) continue;
    (shares[i].wanted == 0 ? empty : raised).insert(CpuId{static_cast<std::int32_t>(i)});
  }
  const auto add = [&copy](std::string source, std::string instead) {
    copy.differences.push_back({"memory", std::move(source), std::move(instead)});
  };
  if (wanted > total) add(amount(wanted) + " in total", amount(total) + " in total, scaled down");
  if (!raised.empty()) {
    add(fmt::format("less than {} MiB on nodes {} of the copy", kNodeMiB, raised.to_string()),
        fmt::format("{} MiB, on the first node {}", kNodeMiB, kFirstNodeMiB));
  }
  if (!empty.empty()) {
    add(fmt::format("none on nodes {} of the copy", empty.to_string()),
        fmt::format("{} MiB, as Linux drops nodes with neither CPUs nor memory; on the first node "
                    "{} MiB for the kernel",
                    kEmptyNodeMiB, kFirstNodeMiB));
  }
}

/// Returns the number of pages of one size on a node of the copy: in proportion to the source, but
/// within `room`, what earlier sizes have left of half the node's memory.
int fitting_pages(std::uint64_t size, std::uint64_t bytes, const NumaNode& from, std::size_t i,
                  const VmNode& node, std::uint64_t room) {
  if (size == kGiantPage && i == 0 && node.memory < kFirstNodeWithGiantPages) return 0;
  const double ratio =
      std::min(1.0, static_cast<double>(node.memory) / static_cast<double>(from.memory));
  const std::uint64_t pages = bytes / size;
  const double scaled = static_cast<double>(pages) * ratio;
  const auto wanted = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(scaled));
  return static_cast<int>(std::min({wanted, room / size, std::uint64_t{65536}}));
}

void copy_huge_pages(MachineCopy& copy, std::size_t i, const NumaNode& from) {
  VmNode& node = copy.machine.nodes[i];
  std::uint64_t room = node.memory / 2;
  for (const auto& [resource, bytes] : from.hugepages) {
    if (bytes == 0) continue;
    const std::uint64_t size = resource == "hugepages-2Mi"   ? kHugePage
                               : resource == "hugepages-1Gi" ? kGiantPage
                                                             : 0;
    const int pages = size == 0 ? 0 : fitting_pages(size, bytes, from, i, node, room);
    if (pages > 0) node.huge_pages[size] = pages;
    room -= static_cast<std::uint64_t>(pages) * size;
    if (static_cast<std::uint64_t>(pages) * size == bytes) continue;
    copy.differences.push_back(
        {"hugePages",
         fmt::format("NUMA node {} has {} of {}", from.id.value, amount(bytes / kMiB), resource),
         size == 0 ? "none: x86 has pages of 2Mi and 1Gi"
         : pages == 0
             ? fmt::format("none: node {} with {} has no room", i, amount(node.memory / kMiB))
             : fmt::format("{} pages on node {}, scaled down", pages, i)});
  }
}

}  // namespace

Result<void> copy_memory(MachineCopy& copy, const Machine& source,
                         std::optional<std::uint64_t> budget) {
  const std::vector<MemoryShare> shares = shares_of(copy, source);
  std::uint64_t least = 0;
  for (const MemoryShare& share : shares) least += share.least;
  const std::uint64_t most = budget.value_or(std::max(kDefaultBudget, least * kMiB));
  if (most / kMiB < least) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("memory: '{}': expected at least {}Mi for {} NUMA nodes", most, least,
                            shares.size()));
  }
  const std::vector<std::uint64_t> parts = split(shares, most / kMiB);
  for (std::size_t i = 0; i < parts.size(); ++i) copy.machine.nodes[i].memory = parts[i] * kMiB;
  compare_memory(copy, shares, parts);
  compare_sizes(copy, source, parts);
  for (std::size_t i = 0; i < parts.size(); ++i)
    copy_huge_pages(copy, i, source_node(copy, i, source));
  compare_page_sizes(copy, source);
  return {};
}

}  // namespace pinfold::harness
