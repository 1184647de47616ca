#include "pinfold/harness/source_traits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "pinfold/base/read_file.hpp"
#include "pinfold/discover/kernel_files.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCpus = "sys/devices/system/cpu";
constexpr const char* kNodes = "sys/devices/system/node";
/// The id of a die or cluster if there is none.
constexpr std::string_view kNoId = "-1";

/// Reads a file without trailing white space and the NUL bytes that pad captured files; "" if it
/// does not exist.
std::string text_of(const fs::path& file) {
  auto text = read_file(file.string());
  if (!text) return "";
  constexpr std::string_view kPadding(" \t\n\0", 4);
  text->erase(text->find_last_not_of(kPadding) + 1);
  return std::move(*text);
}

/// Returns the numbers N of the entries PREFIXN in a directory, ascending.
std::vector<std::int32_t> numbered(const fs::path& folder, std::string_view prefix,
                                   std::string_view suffix = "") {
  std::vector<std::int32_t> numbers;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    const char* const last = name.data() + name.size() - suffix.size();
    std::int32_t number = 0;
    const auto read = std::from_chars(name.data() + prefix.size(), last, number);
    if (read.ec == std::errc() && read.ptr == last) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

CpuSet cpus_of(const fs::path& list, const fs::path& mask) {
  if (auto cpus = parse_cpu_list(text_of(list)); cpus && !cpus->empty()) return std::move(*cpus);
  if (auto cpus = parse_cpu_mask(text_of(mask))) return std::move(*cpus);
  return {};
}

void add_group(std::vector<CpuSet>& groups, CpuSet group) {
  if (group.empty() || std::find(groups.begin(), groups.end(), group) != groups.end()) return;
  groups.push_back(std::move(group));
}

/// Returns the value after "KEY :" of the first CPU in /proc/cpuinfo.
std::optional<std::string> field_of(std::string_view cpuinfo, std::string_view key) {
  while (!cpuinfo.empty()) {
    const std::string_view line = cpuinfo.substr(0, cpuinfo.find('\n'));
    cpuinfo.remove_prefix(std::min(line.size() + 1, cpuinfo.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (name != key) continue;
    return std::string(line.substr(std::min(line.find_first_not_of(' ', colon + 1), line.size())));
  }
  return std::nullopt;
}

std::string arch_of_cpu(std::string_view cpuinfo) {
  if (const auto flags = field_of(cpuinfo, "flags")) {
    return (" " + *flags + " ").find(" lm ") != std::string::npos ? "amd64" : "i386";
  }
  if (const auto version = field_of(cpuinfo, "CPU architecture")) {
    return *version == "8" ? "arm64" : "arm";
  }
  if (field_of(cpuinfo, "arch") == "IA-64") return "ia64";
  if (field_of(cpuinfo, "vendor_id") == "IBM/S390") return "s390x";
  if (field_of(cpuinfo, "cpu").value_or("").starts_with("POWER")) return "ppc64";
  return field_of(cpuinfo, "isa").value_or("").starts_with("rv64") ? "riscv64" : "";
}

/// Returns the page size in KiB. arm64 has no file for it, but each page size has different huge
/// pages.
std::uint64_t page_size_of(const std::string& arch, const fs::path& root) {
  constexpr std::uint64_t kUsual = 4;
  if (arch == "amd64" || arch == "i386" || arch == "s390x") return kUsual;
  if (arch != "arm64") return 0;
  constexpr std::pair<std::int32_t, std::uint64_t> kSizes[] = {{64, 4}, {524288, 64}, {32768, 16}};
  const auto huge = numbered(root / "sys/kernel/mm/hugepages", "hugepages-", "kB");
  for (const auto& [size, page] : kSizes) {
    if (std::find(huge.begin(), huge.end(), size) != huge.end()) return page;
  }
  return 0;
}

void read_cpu(SourceTraits& traits, const fs::path& cpu, const CpuSet& usable) {
  const fs::path topology = cpu / "topology";
  for (const auto& [name, groups] :
       {std::pair("die", &traits.dies), std::pair("cluster", &traits.clusters)}) {
    if (text_of(topology / fmt::format("{}_id", name)) == kNoId) continue;
    add_group(*groups, usable & cpus_of(topology / fmt::format("{}_cpus_list", name),
                                        topology / fmt::format("{}_cpus", name)));
  }
  for (const std::int32_t index : numbered(cpu / "cache", "index")) {
    const fs::path cache = cpu / "cache" / fmt::format("index{}", index);
    CpuSet shared = usable & cpus_of(cache / "shared_cpu_list", cache / "shared_cpu_map");
    if (shared.empty()) continue;
    CacheKind& kind =
        traits
            .caches[fmt::format("level {} {}", text_of(cache / "level"), text_of(cache / "type"))];
    add_group(kind.groups, std::move(shared));
    kind.sizes.insert(text_of(cache / "size"));
  }
}

}  // namespace

SourceTraits read_traits(const fs::path& root, const CpuSet& usable) {
  SourceTraits traits;
  traits.is_read = true;
  traits.arch = arch_of_cpu(text_of(root / "proc/cpuinfo"));
  traits.page_kib = page_size_of(traits.arch, root);
  for (const std::int32_t id : numbered(root / kCpus, "cpu")) {
    if (id < 0 || id >= CpuSet::kMaxCpus) continue;
    if (usable.contains(CpuId{id})) {
      read_cpu(traits, root / kCpus / fmt::format("cpu{}", id), usable);
    } else {
      traits.unusable.insert(CpuId{id});
    }
  }
  for (const std::int32_t id : numbered(root / kNodes, "node")) {
    const fs::path node = root / kNodes / fmt::format("node{}", id);
    std::error_code failed;
    if (!numbered(node, "access").empty()) traits.access_nodes.push_back(NumaId{id});
    if (fs::exists(node / "memory_side_cache", failed)) {
      traits.side_cache_nodes.push_back(NumaId{id});
    }
  }
  return traits;
}

}  // namespace pinfold::harness
