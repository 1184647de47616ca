#include "pinfold/noise/counters.hpp"

#include <algorithm>
#include <utility>

#include "pinfold/audit/proc_files.hpp"
#include "pinfold/text/words.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::noise {
namespace {

std::optional<std::uint64_t> count_in(std::string_view word) {
  const auto number = audit::parse_number(word);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

/// Parses "CPU3" or "cpu3".
std::optional<CpuId> cpu_in(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) return std::nullopt;
  const auto cpu = count_in(word.substr(prefix.size()));
  if (!cpu || *cpu >= static_cast<std::uint64_t>(CpuSet::kMaxCpus)) return std::nullopt;
  return CpuId{static_cast<std::int32_t>(*cpu)};
}

/// Returns the CPUs of a heading; empty unless each word is one, ascending.
std::vector<CpuId> cpus_of(std::string_view heading) {
  std::vector<CpuId> cpus;
  for (auto word = audit::cut_word(heading); !word.empty(); word = audit::cut_word(heading)) {
    const auto cpu = cpu_in(word, "CPU");
    if (!cpu || (!cpus.empty() && *cpu <= cpus.back())) return {};
    cpus.push_back(*cpu);
  }
  return cpus;
}

/// Parses "LOC: 1 2 Local timer interrupts"; nullopt with fewer than `columns` counts.
std::optional<CountRow> row_in(std::string_view line, std::size_t columns) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  CountRow row{std::string(trimmed(line.substr(0, colon)))};
  line.remove_prefix(colon + 1);
  while (row.counts.size() < columns) {
    const auto count = count_in(audit::cut_word(line));
    if (!count) return std::nullopt;
    row.counts.push_back(*count);
  }
  row.description = trimmed(line);
  return row;
}

/// Returns the first `most` words of a line as counts; fewer if a word is not one.
std::vector<std::uint64_t> counts_in(std::string_view line, std::size_t most) {
  std::vector<std::uint64_t> counts;
  while (counts.size() < most) {
    const auto count = count_in(audit::cut_word(line));
    if (!count) break;
    counts.push_back(*count);
  }
  return counts;
}

/// Calls `use` with each CPU of lines such as "cpu3 1 2 3", and its first `size` counts.
template <class Use>
void for_each_cpu(std::string_view text, std::size_t size, Use use) {
  while (!text.empty()) {
    std::string_view line = audit::cut_field(text, '\n');
    const auto cpu = cpu_in(audit::cut_word(line), "cpu");
    if (!cpu) continue;
    const auto counts = counts_in(line, size);
    if (counts.size() == size) use(*cpu, counts);
  }
}

}  // namespace

CountTable parse_counts(std::string_view text) {
  CountTable table{cpus_of(audit::cut_field(text, '\n'))};
  if (table.cpus.empty()) return table;
  while (!text.empty()) {
    auto row = row_in(audit::cut_field(text, '\n'), table.cpus.size());
    if (row) table.rows.push_back(*std::move(row));
  }
  return table;
}

std::map<CpuId, LostTimes> parse_lost_times(std::string_view text, std::int64_t ticks_per_second) {
  constexpr std::size_t kInterrupts = 5;  // after user, nice, system, idle and iowait
  constexpr std::size_t kSoftirqs = 6;
  constexpr std::size_t kStolen = 7;
  constexpr std::uint64_t kMost = UINT64_C(1) << 40U;  // ticks: a microsecond count stays exact
  const auto time = [&](std::uint64_t ticks) {
    const auto count = static_cast<std::int64_t>(std::min(ticks, kMost));
    return std::chrono::microseconds(count * (std::micro::den / ticks_per_second));
  };
  std::map<CpuId, LostTimes> times;
  for_each_cpu(text, kStolen + 1, [&](CpuId cpu, const auto& counts) {
    times[cpu] = {time(counts[kInterrupts]), time(counts[kSoftirqs]), time(counts[kStolen])};
  });
  return times;
}

std::map<CpuId, std::uint64_t> parse_runs(std::string_view text) {
  constexpr std::size_t kFields = 9;  // the last one counts the runs
  std::map<CpuId, std::uint64_t> runs;
  for_each_cpu(text, kFields, [&](CpuId cpu, const auto& counts) { runs[cpu] = counts.back(); });
  return runs;
}

std::optional<ThreadTimes> parse_thread_times(std::string_view text) {
  constexpr std::size_t kFields = 3;
  const auto counts = counts_in(trimmed(text), kFields);
  if (counts.size() != kFields) return std::nullopt;
  return ThreadTimes{std::chrono::nanoseconds(counts[0]), std::chrono::nanoseconds(counts[1]),
                     counts[2]};
}

}  // namespace pinfold::noise
