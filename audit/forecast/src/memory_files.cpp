#include "pinfold/forecast/memory_files.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <system_error>

#include "pinfold/audit/proc_files.hpp"
#include "pinfold/text/words.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::forecast {
namespace {

using audit::cut_field;
using audit::cut_word;

/// No machine has that much memory; sums of a few such numbers stay exact.
constexpr std::uint64_t kMostBytes = UINT64_C(1) << 56U;
constexpr std::uint64_t kKiB = 1024;

/// Parses a number of units; nullopt for any other text and for more than kMostBytes.
std::optional<std::uint64_t> bytes_in(std::string_view word, std::uint64_t unit) {
  const auto number = audit::parse_number(word);
  if (!number || *number < 0) return std::nullopt;
  const auto count = static_cast<std::uint64_t>(*number);
  return count <= kMostBytes / unit ? std::optional(count * unit) : std::nullopt;
}

/// Adds "N0=123 N1=456" to the sum.
void add_nodes(std::string_view words, std::uint64_t unit, enforce::PagesByNode& sum) {
  for (auto word = cut_word(words); !word.empty(); word = cut_word(words)) {
    const std::size_t equals = word.find('=');
    if (!word.starts_with('N') || equals == std::string_view::npos) continue;
    const auto node = audit::parse_number(word.substr(1, equals - 1));
    const auto bytes = bytes_in(word.substr(equals + 1), unit);
    if (!node || *node < 0 || *node >= CpuSet::kMaxCpus || !bytes) continue;
    std::uint64_t& of_node = sum[static_cast<std::int32_t>(*node)];
    of_node = std::min(of_node + *bytes, kMostBytes);
  }
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::optional<NumaMeminfo> parse_numa_meminfo(std::string_view text) {
  NumaMeminfo info;
  bool has_total = false;
  bool has_free = false;
  std::optional<std::uint64_t> slabs;  // part of the others since Linux 4.20
  while (!text.empty()) {
    std::string_view line = cut_field(text, '\n');  // Node 0 MemFree: 123 kB
    if (cut_word(line) != "Node" || !audit::parse_number(cut_word(line))) continue;
    const std::string_view name = cut_word(line);
    const auto bytes = bytes_in(cut_word(line), kKiB);
    if (!bytes) continue;
    has_total = has_total || name == "MemTotal:";
    has_free = has_free || name == "MemFree:";
    if (name == "MemTotal:") info.total = *bytes;
    if (name == "MemFree:") info.free = *bytes;
    if (is_one_of(name, {"Active(file):", "Inactive(file):"})) {
      info.file = std::min(info.file + *bytes, kMostBytes);
    }
    if (name == "KReclaimable:") info.reclaimable = *bytes;
    if (name == "SReclaimable:") slabs = *bytes;
  }
  info.reclaimable = std::max(info.reclaimable, slabs.value_or(0));
  return has_total && has_free ? std::optional(info) : std::nullopt;
}

enforce::PagesByNode parse_numa_stat(std::string_view text, std::uint64_t page_size) {
  enforce::PagesByNode sum;
  while (!text.empty()) {
    std::string_view line = cut_field(text, '\n');
    const std::string_view first = cut_word(line);
    const std::size_t equals = first.find('=');
    const std::string_view name = first.substr(0, equals);
    const bool is_v1 = equals != std::string_view::npos;  // anon=5 N0=5
    const bool counts = is_v1 ? is_one_of(name, {"hierarchical_anon", "hierarchical_unevictable"})
                              : is_one_of(name, {"anon", "shmem", "kernel_stack", "pagetables",
                                                 "sec_pagetables", "slab_unreclaimable"});
    if (counts) add_nodes(line, is_v1 ? page_size : 1, sum);
  }
  return sum;
}

std::optional<std::uint64_t> parse_memory_limit(std::string_view text) {
  return bytes_in(trimmed(text), 1);  // v1 without a limit has a number beyond kMostBytes
}

double parse_stalled(std::string_view text) {
  constexpr std::string_view kAverage = "avg10=";
  constexpr double kPercent = 100;
  std::string_view line = cut_field(text, '\n');
  if (cut_word(line) != "some") return 0;
  const std::string_view word = cut_word(line);
  if (!word.starts_with(kAverage)) return 0;
  double percent = 0;
  const auto [end, error] =
      std::from_chars(word.data() + kAverage.size(), word.data() + word.size(), percent);
  const bool is_number = error == std::errc() && end == word.data() + word.size();
  return is_number && percent >= 0 && percent <= kPercent ? percent / kPercent : 0;
}

std::uint64_t parse_min_free(std::string_view text) {
  return bytes_in(trimmed(text), kKiB).value_or(0);
}

}  // namespace pinfold::forecast
