#include "pinfold/audit/boot_parameters.hpp"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "pinfold/audit/proc_files.hpp"

namespace pinfold::audit {
namespace {

using Number = std::uint32_t;

/// The first CPUs of each group of CPUs from `start` to `end`.
struct BootRegion {
  Number start = 0;
  Number end = 0;
  Number used = 0;
  Number group = 0;
};

bool cut_char(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

bool cut_number(std::string_view& rest, Number last, Number& number) {
  if (cut_char(rest, 'N')) {
    number = last;
    return true;
  }
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return error == std::errc();
}

bool cut_range(std::string_view& rest, Number last, BootRegion& region) {
  constexpr std::string_view kAll = "all";
  if (rest.size() >= kAll.size() && ::strncasecmp(rest.data(), kAll.data(), kAll.size()) == 0) {
    rest.remove_prefix(kAll.size());
    region.end = last;
    return true;
  }
  if (!cut_number(rest, last, region.start)) return false;
  region.end = region.start;
  return rest.empty() || (cut_char(rest, '-') && cut_number(rest, last, region.end));
}

std::optional<BootRegion> parse_region(std::string_view word, Number last) {
  BootRegion region;
  if (!cut_range(word, last, region)) return std::nullopt;
  region.used = region.group = region.end + 1;
  const bool is_whole =
      word.empty() || (cut_char(word, ':') && cut_number(word, last, region.used) &&
                       cut_char(word, '/') && cut_number(word, last, region.group) && word.empty());
  const bool is_sound = region.start <= region.end && region.end <= last && region.group > 0 &&
                        region.used <= region.group;
  return is_whole && is_sound ? std::optional(region) : std::nullopt;
}

void add_region(const BootRegion& region, CpuSet& cpus) {
  for (std::uint64_t first = region.start; first <= region.end; first += region.group) {
    const auto end = std::min<std::uint64_t>(first + region.used, region.end + std::uint64_t{1});
    for (auto cpu = first; cpu < end; ++cpu) cpus.insert(CpuId{static_cast<std::int32_t>(cpu)});
  }
}

/// In the C locale, as in the kernel.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_flag(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) { return is_letter(c) || c == '_'; });
}

/// A value of isolcpus=, split.
struct FlaggedList {
  bool domain = false;
  bool managed_irq = false;
  std::string_view list;
};

/// Splits a value; nullopt: the kernel refuses a flag. It recognizes a flag only before a comma.
std::optional<FlaggedList> split_flags(std::string_view value) {
  FlaggedList split;
  bool has_flags = false;
  while (!value.empty() && is_letter(value.front())) {
    const bool has_comma = value.find(',') != std::string_view::npos;
    const std::string_view flag = cut_field(value, ',');
    if (!is_flag(flag)) return std::nullopt;
    if (!has_comma) break;
    split.domain = split.domain || flag == "domain";
    split.managed_irq = split.managed_irq || flag == "managed_irq";
    has_flags = has_flags || split.domain || split.managed_irq || flag == "nohz";
  }
  split.domain = split.domain || !has_flags;
  split.list = value;
  return split;
}

}  // namespace

std::vector<std::string> boot_values(std::string_view command_line, std::string_view name) {
  std::vector<std::string> values;
  for (const KernelParameter& one : parse_kernel_command_line(command_line)) {
    if (one.name == "--") break;
    if (one.name == name) values.push_back(one.value);
  }
  return values;
}

std::optional<CpuSet> parse_boot_cpus(std::string_view list, CpuId last) {
  constexpr std::string_view kSeparators = ", \t\n\v\f\r";
  CpuSet cpus;
  for (auto begin = list.find_first_not_of(kSeparators); begin != std::string_view::npos;
       begin = list.find_first_not_of(kSeparators)) {
    list.remove_prefix(begin);
    const std::string_view word = list.substr(0, list.find_first_of(kSeparators));
    list.remove_prefix(word.size());
    const auto region = parse_region(word, static_cast<Number>(last.value));
    if (!region) return std::nullopt;
    add_region(*region, cpus);
  }
  return cpus;
}

Isolcpus parse_isolcpus(const std::vector<std::string>& values, CpuId last) {
  Isolcpus all;
  for (const std::string_view value : values) {
    const auto flagged = split_flags(value);
    const auto cpus = flagged ? parse_boot_cpus(flagged->list, last) : std::nullopt;
    if (!cpus) continue;
    all.is_accepted = true;
    if (flagged->domain && !all.domain) all.domain = cpus;
    if (flagged->managed_irq && !all.managed_irq) all.managed_irq = cpus;
  }
  return all;
}

}  // namespace pinfold::audit
