#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "batch.hpp"
#include "command.hpp"
#include "parts.hpp"
#include "pinfold/harness/costs.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/report.hpp"

namespace pinfold::harness {
namespace {

int write_reports(const RunArguments& arguments, const std::vector<ScenarioResult>& results) {
  constexpr std::size_t kMostShown = 5;
  const nlohmann::json json = report_json(results);
  if (!arguments.quiet && results.size() > 1) {
    fmt::print("{}", costs_text(json.at("costs"), kMostShown));
  }
  if (!arguments.json_file.empty()) {
    const auto text = json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
    if (auto written = write_file(arguments.json_file, text + "\n"); !written) {
      return report(written.error());
    }
  }
  return write_views(json, arguments.views);
}

/// Checks that everything that is written at the end can be.
Result<void> check_outputs(const RunArguments& arguments) {
  if (!arguments.json_file.empty()) {
    PINFOLD_TRY_WRAP(check_writable(arguments.json_file), "--json");
  }
  return check_views(arguments.views);
}

}  // namespace

int run_demo(RunArguments arguments, int interrupt_fd) {
  const auto parts = find_parts();
  if (!parts) return report(parts.error());
  arguments.selection = {
      {parts->share / "tests/vm/scenarios/two-numa.yaml"}, {to_string(Platform{})}, {}, ""};
  arguments.tables = true;
  return run_scenarios(arguments, interrupt_fd);
}

int run_scenarios(const RunArguments& arguments, int interrupt_fd) {
  auto options = make_run_options(arguments.common, interrupt_fd);
  if (!options) return report(options.error());
  auto scenarios = find_scenarios(arguments.selection);
  if (!scenarios) return report(scenarios.error());
  const auto can_write = check_outputs(arguments);
  if (!can_write) return report(can_write.error());
  (void)sweep_temporary_folders();
  options->coverage = arguments.coverage;
  options->keep = arguments.keep;
  if (!can_start(*scenarios, *options, arguments.jobs)) return kUsageError;
  const auto results = run_batch(arguments, *options, *scenarios, [](const ScenarioResult&) {});
  if (const int wrote = write_reports(arguments, results); wrote != kOk) return wrote;
  if (was_interrupted(results, scenarios->size())) return kUsageError;
  const bool ok = std::all_of(results.begin(), results.end(),
                              [](const ScenarioResult& result) { return result.ok(); });
  return ok ? kOk : kFailed;
}

}  // namespace pinfold::harness
