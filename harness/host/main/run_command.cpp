#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "pinfold/harness/report.hpp"
#include "pinfold/harness/session.hpp"

namespace pinfold::harness {
namespace {

const std::string kSourceFolder = PINFOLD_SOURCE_FOLDER;

/// What comes with Pinfold: scenarios of the product, guests that misbehave, others' programs.
std::vector<std::string> shipped_scenarios() {
  return {kSourceFolder + "/tests/vm/scenarios", kSourceFolder + "/tests/vm/selftest",
          kSourceFolder + "/examples/harness"};
}

struct RunArguments {
  CommonOptions common;
  std::vector<std::string> files;
  std::string json_file;
  ReportViews views;
  std::string coverage;
  bool tables = false;
  bool quiet = false;
};

void indent(std::string_view text, const char* by) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    fmt::print("{}{}\n", by, text.substr(at, end - at));
    at = end + 1;
  }
}

void show_step(const StepResult& step, const RunArguments& arguments) {
  if (!arguments.quiet) {
    fmt::print("    {} {} ({})\n", step.good ? "ok   " : "WRONG", step.title,
               format_seconds(step.elapsed));
  }
  if ((arguments.tables || !step.good) && !step.rows.empty()) {
    fmt::print("\n");
    indent(container_table(step.rows), "      ");
    fmt::print("\n");
  }
  std::fflush(stdout);
}

void show_result(const ScenarioResult& result, std::size_t number, std::size_t count) {
  fmt::print("[{}/{}] {} {}: {} ({}, ready after {}{})\n", number, count,
             result.good() ? "ok  " : "FAIL", result.name, to_string(result.verdict),
             format_seconds(result.elapsed), format_seconds(result.until_ready),
             result.restored ? " from a snapshot" : "");
  if (result.good() && result.expected != Verdict::kPassed) {
    fmt::print("    as it must: {}\n", result.message);
  }
  for (const std::string& note : result.notes) fmt::print("    note: {}\n", note);
  if (!result.good()) {
    if (result.expected != Verdict::kPassed) {
      fmt::print("    expected: {}{}{}\n", to_string(result.expected),
                 result.because.empty() ? "" : ", because: ", result.because);
    }
    indent(result.message, "    ");
    if (!result.console.empty()) {
      fmt::print("    end of the guest's console:\n");
      indent(result.console, "    | ");
    }
  }
  std::fflush(stdout);
}

int write_reports(const RunArguments& arguments, const std::vector<ScenarioResult>& results) {
  const nlohmann::json json = report_json(results);
  if (!arguments.json_file.empty()) {
    const auto text = json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
    if (auto written = write_file(arguments.json_file, text + "\n"); !written) {
      return report(written.error());
    }
  }
  return write_views(json, arguments.views);
}

int run_all(const RunArguments& arguments, int interrupt_fd) {
  auto options = make_run_options(arguments.common, interrupt_fd);
  if (!options) return report(options.error());
  auto names = arguments.files;
  if (names.empty()) names = shipped_scenarios();
  const auto files = find_scenarios(names);
  if (!files) return report(files.error());
  std::vector<Scenario> scenarios;
  for (const auto& file : *files) {
    auto scenario = load_scenario(file);
    if (!scenario) return report(scenario.error());
    scenarios.push_back(std::move(*scenario));
  }
  (void)sweep_temporary_folders();
  options->coverage = arguments.coverage;
  options->on_step = [&](const StepResult& step) { show_step(step, arguments); };
  std::vector<ScenarioResult> results;
  bool good = true;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    options->on_progress = [&](const std::string& text) {
      if (!arguments.quiet) fmt::print("    {}\n", text);
      std::fflush(stdout);
    };
    if (!arguments.quiet) fmt::print("[{}/{}] {}\n", i + 1, scenarios.size(), scenarios[i].name);
    std::fflush(stdout);
    ScenarioResult result = run_scenario(scenarios[i], *options);
    result.file = (*files)[i];
    show_result(result, i + 1, scenarios.size());
    good = good && result.good();
    results.push_back(std::move(result));
    if (results.back().verdict == Verdict::kInterrupted) break;
  }
  if (const int wrote = write_reports(arguments, results); wrote != kGood) return wrote;
  if (results.back().verdict == Verdict::kInterrupted) return kBadRequest;
  return good ? kGood : kBad;
}

}  // namespace

void add_run(CLI::App& app, int interrupt_fd, int& exit_status) {
  CLI::App* command = app.add_subcommand("run", "Run scenario files, or all in a folder");
  auto arguments = std::make_shared<RunArguments>();
  add_common_options(*command, arguments->common);
  command->add_option("scenario", arguments->files,
                      "Scenario files or folders [all that come with Pinfold]");
  command->add_option("--json", arguments->json_file, "Write the results to this file");
  add_view_options(*command, arguments->views);
  command->add_option("--coverage", arguments->coverage,
                      "Bring what guests' programs have counted for gcov into this folder");
  command->add_flag("--tables", arguments->tables, "Print the table of every verify step");
  command->add_flag("-q,--quiet", arguments->quiet, "One line for each scenario");
  command->callback([=, &exit_status] { exit_status = run_all(*arguments, interrupt_fd); });
}

void add_demo(CLI::App& app, int interrupt_fd, int& exit_status) {
  CLI::App* command = app.add_subcommand(
      "demo", "Pods on two NUMA nodes: what was decided, and what the kernel has");
  auto arguments = std::make_shared<RunArguments>();
  arguments->files = {kSourceFolder + "/tests/vm/scenarios/two-numa-basic.yaml"};
  arguments->tables = true;
  command->add_option("--json", arguments->json_file, "Write the results to this file");
  add_common_options(*command, arguments->common);
  command->callback([=, &exit_status] { exit_status = run_all(*arguments, interrupt_fd); });
}

void add_list(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand("list", "List scenario files and check them");
  auto names = std::make_shared<std::vector<std::string>>();
  command->add_option("scenario", *names, "Scenario files or folders [all that come with Pinfold]");
  command->callback([=, &exit_status] {
    if (names->empty()) *names = shipped_scenarios();
    const auto files = find_scenarios(*names);
    if (!files) {
      exit_status = report(files.error());
      return;
    }
    for (const auto& file : *files) {
      const auto scenario = load_scenario(file);
      if (!scenario) {
        exit_status = report(scenario.error());
        continue;
      }
      fmt::print("{:<28} {:>3} CPUs {:>2} nodes  {:<14} {}\n", scenario->name,
                 scenario->machine.cpu_count(), scenario->machine.nodes.size(),
                 to_string(scenario->verdict), scenario->description);
    }
  });
}

}  // namespace pinfold::harness
