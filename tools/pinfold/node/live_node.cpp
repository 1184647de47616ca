#include "node/live_node.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>
#include <vector>

#include "pinfold/base/read_file.hpp"
#include "pinfold/discover/kernel_files.hpp"

namespace pinfold::tools {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t begin = line.find_first_not_of(" \t"); begin < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(" \t", end);
  }
  return words;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

std::optional<std::uint64_t> number_in(std::string_view word) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> number_of(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  return number_in(std::string_view(*text).substr(0, text->find('\n')));
}

}  // namespace

std::optional<std::uint64_t> in_large_blocks(std::string_view buddyinfo, NumaId numa,
                                             std::uint64_t page_size) {
  constexpr std::uint64_t kLarge = std::uint64_t{2} << 20U;
  const std::string prefix = fmt::format("Node {}, zone ", numa.value);
  std::optional<std::uint64_t> sum;
  for (const std::string_view line : lines_of(buddyinfo)) {
    if (!line.starts_with(prefix)) continue;
    const auto words = words_of(line.substr(prefix.size()));
    std::uint64_t block = page_size;
    for (std::size_t i = 1; i < words.size(); ++i, block *= 2) {  // the first word is the zone
      const auto count = number_in(words[i]);
      if (!count) break;
      sum = sum.value_or(0) + (block >= kLarge ? *count * block : 0);
    }
  }
  return sum;
}

LiveMemory read_live_memory(const std::string& root, NumaId numa) {
  LiveMemory memory;
  const std::string node = fmt::format("{}/sys/devices/system/node/node{}", root, numa.value);
  if (const auto meminfo = read_file(node + "/meminfo")) {
    for (const std::string_view line : lines_of(*meminfo)) {
      const auto words = words_of(line);  // Node 0 MemFree: 123 kB
      if (words.size() < 4 || words[2] != "MemFree:") continue;
      if (const auto kib = number_in(words[3])) memory.free = *kib * 1024;
    }
  }
  std::error_code ignored;
  const std::string prefix = "hugepages-";
  for (const auto& entry : std::filesystem::directory_iterator(node + "/hugepages", ignored)) {
    const std::string name = entry.path().filename();  // hugepages-2048kB
    if (!name.starts_with(prefix) || !name.ends_with("kB")) continue;
    const auto kib =
        number_in(std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - 2));
    const auto pages = number_of(entry.path() / "free_hugepages");
    if (kib && *kib > 0 && pages) memory.hugepages[hugepage_resource(*kib)] = *pages * *kib * 1024;
  }
  if (const auto buddyinfo = read_file(root + "/proc/buddyinfo")) {
    memory.in_large_blocks = in_large_blocks(
        *buddyinfo, numa, static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_PAGESIZE))));
  }
  return memory;
}

std::map<CpuId, CpuTime> parse_cpu_times(std::string_view stat) {
  // user nice system idle iowait irq softirq steal; user includes guest time
  constexpr std::size_t kFields = 8;
  constexpr std::size_t kIdle = 3;
  constexpr std::size_t kIoWait = 4;
  std::map<CpuId, CpuTime> times;
  for (const std::string_view line : lines_of(stat)) {
    const auto words = words_of(line);
    if (words.size() < 2 || !words[0].starts_with("cpu")) continue;
    const auto cpu = number_in(words[0].substr(3));
    if (!cpu || *cpu >= static_cast<std::uint64_t>(CpuSet::kMaxCpus)) continue;
    CpuTime time;
    for (std::size_t i = 0; i < kFields && i + 1 < words.size(); ++i) {
      const std::uint64_t ticks = number_in(words[i + 1]).value_or(0);
      time.total += ticks;
      if (i != kIdle && i != kIoWait) time.busy += ticks;
    }
    times[CpuId{static_cast<std::int32_t>(*cpu)}] = time;
  }
  return times;
}

std::map<CpuId, CpuTime> read_cpu_times(const std::string& root) {
  const auto stat = read_file(root + "/proc/stat");
  return stat ? parse_cpu_times(*stat) : std::map<CpuId, CpuTime>();
}

std::map<CpuId, double> loads_between(const std::map<CpuId, CpuTime>& before,
                                      const std::map<CpuId, CpuTime>& after) {
  std::map<CpuId, double> loads;
  for (const auto& [cpu, time] : after) {
    const auto earlier = before.find(cpu);
    if (earlier == before.end()) continue;
    // Both can decrease a little, because the kernel corrects the idle time.
    const std::uint64_t total = time.total - std::min(time.total, earlier->second.total);
    const std::uint64_t busy = time.busy - std::min(time.busy, earlier->second.busy);
    loads[cpu] =
        total == 0 ? 0 : std::min(1.0, static_cast<double>(busy) / static_cast<double>(total));
  }
  return loads;
}

}  // namespace pinfold::tools
