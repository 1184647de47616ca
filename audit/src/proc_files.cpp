#include "pinfold/audit/proc_files.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace pinfold::audit {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t\n") + 1);
}

}  // namespace

std::string_view cut_field(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + 1));
  return field;
}

std::string_view cut_word(std::string_view& rest) {
  constexpr std::string_view kBlanks = " \t";
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  const std::size_t end = std::min(rest.find_first_of(kBlanks), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end);
  return word;
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string_view StatFields::field(std::size_t number) const {
  std::string_view fields = rest;
  for (std::size_t i = 3; i < number; ++i) cut_field(fields, ' ');
  return trimmed(cut_field(fields, ' '));
}

std::optional<StatFields> split_proc_stat(std::string_view text) {
  // The name is in parentheses and may contain any character.
  const std::size_t begin = text.find(" (");
  const std::size_t end = text.rfind(") ");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin + 2) {
    return std::nullopt;
  }
  return StatFields{text.substr(0, begin), text.substr(begin + 2, end - begin - 2),
                    text.substr(end + 2)};
}

std::string_view status_value(std::string_view status, std::string_view name) {
  while (!status.empty()) {
    const std::string_view line = cut_field(status, '\n');
    if (!line.starts_with(name) || !line.substr(name.size()).starts_with(':')) continue;
    return trimmed(line.substr(name.size() + 1));
  }
  return "";
}

std::optional<ProcStat> parse_proc_stat(std::string_view text) {
  constexpr std::size_t kState = 3;
  constexpr std::size_t kParent = 4;
  const auto fields = split_proc_stat(text);
  if (!fields) return std::nullopt;
  const auto parent = parse_number(fields->field(kParent));
  const auto flags = parse_number(fields->field(kStatFlags));
  if (!parent || !flags) return std::nullopt;
  const std::string_view state = fields->field(kState);
  ProcStat stat;
  stat.name = std::string(fields->name);
  stat.has_ended = state == "Z" || state == "X";
  stat.parent = static_cast<pid_t>(*parent);
  stat.is_kernel_thread = (*flags & kKernelThreadFlag) != 0;
  stat.has_fixed_cpus = (*flags & kFixedCpusFlag) != 0;
  return stat;
}

std::optional<CpuSet> parse_allowed_cpus(std::string_view status) {
  const std::string_view list = status_value(status, "Cpus_allowed_list");
  auto cpus = CpuSet::parse(list);
  return !list.empty() && cpus ? std::optional(*std::move(cpus)) : std::nullopt;
}

std::vector<pid_t> parse_pids(std::string_view text) {
  std::vector<pid_t> pids;
  while (!text.empty()) {
    const auto pid = parse_number(trimmed(cut_field(text, '\n')));
    if (pid && *pid > 0 && *pid <= INT32_MAX) pids.push_back(static_cast<pid_t>(*pid));
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

enforce::CpuQuota parse_cpu_max(std::string_view text) {
  const std::string_view quota = cut_word(text);
  return parse_cfs(quota, cut_word(text));
}

enforce::CpuQuota parse_cfs(std::string_view quota, std::string_view period) {
  const auto quota_us = parse_number(trimmed(quota));
  const auto period_us = parse_number(trimmed(period));
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return {};
  return {*quota_us, static_cast<std::uint64_t>(*period_us)};
}

Throttled parse_throttled(std::string_view cpu_stat) {
  constexpr std::uint64_t kNsPerUs = 1000;
  const auto count_of = [cpu_stat](std::string_view key) {
    std::string_view rest = cpu_stat;
    while (!rest.empty()) {
      std::string_view line = cut_field(rest, '\n');
      if (cut_word(line) != key) continue;
      const auto count = parse_number(trimmed(line));
      return count && *count > 0 ? static_cast<std::uint64_t>(*count) : 0;
    }
    return std::uint64_t{0};
  };
  const std::uint64_t usec = count_of("throttled_usec");
  return {count_of("nr_throttled"), usec > 0 ? usec : count_of("throttled_time") / kNsPerUs};
}

CpuSet Interrupts::came_on(int irq, const CpuSet& among) const {
  CpuSet found;
  const auto row = counts.find(irq);
  if (row == counts.end()) return found;
  for (std::size_t i = 0; i < row->second.size(); ++i) {
    if (row->second[i] != 0 && among.contains(CpuId{cpus[i]})) found.insert(CpuId{cpus[i]});
  }
  return found;
}

Interrupts parse_interrupts(std::string_view text) {
  constexpr std::string_view kCpu = "CPU";
  Interrupts interrupts;
  std::string_view header = cut_field(text, '\n');
  for (auto word = cut_word(header); !word.empty(); word = cut_word(header)) {
    const auto cpu = word.starts_with(kCpu) ? parse_number(word.substr(kCpu.size())) : std::nullopt;
    if (!cpu || *cpu < 0 || *cpu >= CpuSet::kMaxCpus) return {};
    interrupts.cpus.push_back(static_cast<std::int32_t>(*cpu));
  }
  while (!text.empty()) {
    std::string_view line = cut_field(text, '\n');
    const auto number = parse_number(trimmed(cut_field(line, ':')));
    if (!number || *number < 0 || *number > INT32_MAX) continue;  // NMI, LOC, ...
    std::vector<std::uint64_t> row;
    while (row.size() < interrupts.cpus.size()) {
      const auto count = parse_number(cut_word(line));
      if (!count || *count < 0) break;
      row.push_back(static_cast<std::uint64_t>(*count));
    }
    if (row.size() != interrupts.cpus.size()) continue;
    const int irq = static_cast<int>(*number);
    interrupts.counts[irq] = std::move(row);
    interrupts.names[irq] = std::string(trimmed(line));
  }
  return interrupts;
}

std::vector<KernelParameter> parse_kernel_command_line(std::string_view text) {
  std::vector<KernelParameter> parameters;
  std::string word;
  bool is_quoted = false;
  const auto finish = [&] {
    if (word.empty()) return;
    const std::size_t equals = std::min(word.find('='), word.size());
    parameters.push_back(
        {word.substr(0, equals), equals < word.size() ? word.substr(equals + 1) : ""});
    word.clear();
  };
  for (const char c : text) {
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && std::string_view(" \t\n").find(c) != std::string_view::npos) {
      finish();
    } else {
      word += c;
    }
  }
  finish();
  return parameters;
}

std::optional<CpuSet> parse_cpu_mask(std::string_view text) {
  constexpr std::int32_t kBits = 4;
  CpuSet cpus;
  std::int32_t first = 0;  // the lowest CPU of the current digit
  if (text.empty()) return std::nullopt;
  for (auto c = text.rbegin(); c != text.rend(); ++c) {
    if (*c == ',') continue;
    int digit = 0;
    const auto [end, error] = std::from_chars(&*c, &*c + 1, digit, 16);
    if (error != std::errc()) return std::nullopt;
    for (std::int32_t bit = 0; bit < kBits; ++bit) {
      if ((static_cast<unsigned>(digit) >> static_cast<unsigned>(bit) & 1U) == 0) continue;
      if (first + bit >= CpuSet::kMaxCpus) return std::nullopt;
      cpus.insert(CpuId{first + bit});
    }
    first += kBits;
    if (first > 2 * CpuSet::kMaxCpus) return std::nullopt;
  }
  return cpus;
}

bool has_word(std::string_view list, char separator, std::string_view word) {
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find(separator, begin), list.size());
    if (list.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace pinfold::audit
