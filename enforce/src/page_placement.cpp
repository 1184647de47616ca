#include "pinfold/enforce/page_placement.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "kernel_files.hpp"
#include "libnuma.hpp"

namespace pinfold::enforce {
namespace {

/// Adds the pages of one mapping, given the fields of its line.
void add_mapping(std::string_view line, PagesByNode& sum) {
  constexpr std::string_view kPageSize = "kernelpagesize_kB=";
  std::uint64_t page_kib = 4;
  std::vector<std::pair<std::int32_t, std::uint64_t>> pages;
  while (!line.empty()) {
    const std::string_view field = next_field(line, ' ');
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) continue;
    std::int32_t node = 0;
    std::uint64_t count = 0;
    if (field.starts_with(kPageSize)) {
      if (!read_number(field.substr(kPageSize.size()), page_kib)) return;
    } else if (field.front() == 'N' && read_number(field.substr(1, equals - 1), node) &&
               read_number(field.substr(equals + 1), count) && node >= 0) {
      pages.emplace_back(node, count);
    }
  }
  for (const auto& [node, count] : pages) sum[node] += count * page_kib * 1024;
}

using Mask = std::unique_ptr<bitmask, decltype(Libnuma::bitmask_free)>;

Mask mask_of(const Libnuma& numa, const NodeSet& nodes) {
  Mask mask(numa.allocate_nodemask(), numa.bitmask_free);
  for (const auto& node : nodes) {
    numa.bitmask_setbit(mask.get(), static_cast<unsigned>(node.value));
  }
  return mask;
}

}  // namespace

PagesByNode parse_numa_maps(std::string_view text) {
  PagesByNode sum;
  while (!text.empty()) add_mapping(next_field(text, '\n'), sum);
  return sum;
}

PagesByNode pages_of(pid_t pid) { return parse_numa_maps(read_process_file(pid, "numa_maps")); }

double share_on(const PagesByNode& pages, const NodeSet& nodes) {
  double all = 0;
  double on_nodes = 0;
  for (const auto& [node, bytes] : pages) {
    all += static_cast<double>(bytes);
    if (nodes.contains(CpuId{node})) on_nodes += static_cast<double>(bytes);
  }
  return all == 0 ? 1 : on_nodes / all;
}

std::uint64_t moved_bytes(const PagesByNode& before, const PagesByNode& after) {
  std::uint64_t bytes = 0;
  for (const auto& [node, now] : after) {
    const auto had = before.find(node);
    const std::uint64_t then = had == before.end() ? 0 : had->second;
    if (now > then) bytes += now - then;
  }
  return bytes;
}

Result<void> migrate_pages(pid_t pid, const NodeSet& nodes) {
  PINFOLD_LET(const auto* const numa, libnuma());
  if (numa->available() < 0) {
    return fail(ErrorCode::kUnsupported, "this kernel has no NUMA memory policy");
  }
  NodeSet elsewhere;
  for (const auto& [node, bytes] : pages_of(pid)) {
    if (!nodes.contains(CpuId{node})) elsewhere |= NodeSet::of(CpuId{node});
  }
  if (elsewhere.empty()) return {};
  const Mask from = mask_of(*numa, elsewhere);
  const Mask to = mask_of(*numa, nodes);
  if (numa->migrate_pages(pid, from.get(), to.get()) >= 0) return {};
  return fail_errno(errno, fmt::format("move the pages of process {} from nodes {} to {}", pid,
                                       elsewhere.to_string(), nodes.to_string()));
}

}  // namespace pinfold::enforce
