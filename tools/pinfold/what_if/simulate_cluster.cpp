#include "what_if/simulate_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "documents.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/simulate/cluster.hpp"

namespace pinfold::tools {
namespace {

using simulate::ClusterPlan;
using simulate::ScheduleRule;

constexpr std::array kRules = {ScheduleRule::kSums, ScheduleRule::kPublished,
                               ScheduleRule::kExtender};

ScheduledRun run_rule(const ClusterPlan& plan, ScheduleRule rule) {
  constexpr int kHalf = 50;
  constexpr int kAlmostAll = 99;
  const auto result = simulate::simulate_cluster(plan, rule);
  return {std::string(to_string(rule)),
          result.placed,
          result.bounced,
          {result.bounced_by_time.begin(), result.bounced_by_time.end()},
          result.waited,
          result.unplaced,
          result.peak,
          simulate::percentile(result, kHalf),
          simulate::percentile(result, kAlmostAll),
          result.fleet_bytes};
}

std::string milliseconds_text(std::chrono::nanoseconds time) {
  return fmt::format("{:.3f} ms", std::chrono::duration<double, std::milli>(time).count());
}

/// A character for each part of the time, as high as its count compared with the most.
std::string curve(const std::vector<std::size_t>& counts, std::size_t most, const Style& style) {
  constexpr std::array kUnicode = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array kPlain = {".", ":", "-", "=", "+", "*", "%", "#", "@"};
  constexpr std::size_t kHighest = kPlain.size() - 1;
  std::string text;
  for (const std::size_t count : counts) {
    const std::size_t height = (count * kHighest + most - 1) / most;  // not 0 if any
    text += (style.unicode ? kUnicode : kPlain)[height];
  }
  return text;
}

std::string cluster_text(const ClusterDocument& document, const Style& style) {
  using Align = TextTable::Align;
  std::size_t most = 1;
  for (const ScheduledRun& run : document.runs) {
    for (const std::size_t count : run.bounced_by_time) most = std::max(most, count);
  }
  TextTable table({{"RULE", Align::kLeft},
                   {"PLACED", Align::kRight},
                   {"WAITED", Align::kRight},
                   {"UNPLACED", Align::kRight},
                   {"FILTER P99", Align::kRight},
                   {"MEMORY", Align::kRight},
                   {"BOUNCED", Align::kRight},
                   {"OVER TIME", Align::kLeft}});
  for (const ScheduledRun& run : document.runs) {
    table.add({run.rule, std::to_string(run.placed), std::to_string(run.waited),
               std::to_string(run.unplaced), milliseconds_text(run.p99),
               human_bytes(run.fleet_bytes), std::to_string(run.bounced),
               curve(run.bounced_by_time, most, style)});
  }
  return fmt::format("{}, {}, seed {}, objects {} s late\n{}", counted(document.nodes, "node"),
                     counted(document.pods, "pod"), document.seed,
                     std::chrono::duration_cast<std::chrono::seconds>(document.delay).count(),
                     table.render(style, 2));
}

}  // namespace

Result<ExitStatus> simulate_cluster_of(const std::string& plan, OutputFormat format) {
  PINFOLD_LET_WRAP(const auto parsed, simulate::parse_cluster_plan(plan), "--cluster");
  ClusterDocument document{parsed.nodes, parsed.pods, parsed.seed, parsed.delay, {}};
  for (const ScheduleRule rule : kRules) document.runs.push_back(run_rule(parsed, rule));
  if (format == OutputFormat::kJson) {
    fmt::print("{}", json_text(document, 1));
  } else {
    fmt::print("{}", cluster_text(document, terminal_style()));
  }
  return kYes;
}

}  // namespace pinfold::tools
