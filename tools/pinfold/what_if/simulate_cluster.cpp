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

/// A bar as long as the count, compared with the most.
std::string bar(std::size_t count, std::size_t most, const Style& style) {
  constexpr std::size_t kLongest = 30;
  const std::size_t length =
      most == 0 ? 0 : (count * kLongest + most - 1) / most;  // not empty if any
  std::string text;
  for (std::size_t i = 0; i < length; ++i) text += style.unicode ? "█" : "#";
  return text;
}

std::string cluster_text(const ClusterDocument& document, const Style& style) {
  using Align = TextTable::Align;
  std::size_t most = 0;
  for (const ScheduledRun& run : document.runs) most = std::max(most, run.bounced);
  TextTable table({{"RULE", Align::kLeft},
                   {"PLACED", Align::kRight},
                   {"WAITED", Align::kRight},
                   {"UNPLACED", Align::kRight},
                   {"FILTER P99", Align::kRight},
                   {"MEMORY", Align::kRight},
                   {"BOUNCED", Align::kRight},
                   {"", Align::kLeft}});
  for (const ScheduledRun& run : document.runs) {
    table.add({run.rule, std::to_string(run.placed), std::to_string(run.waited),
               std::to_string(run.unplaced), milliseconds_text(run.p99),
               human_bytes(run.fleet_bytes), std::to_string(run.bounced),
               bar(run.bounced, most, style)});
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
