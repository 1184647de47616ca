#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

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
  std::vector<std::string> platforms;
  std::string json_file;
  ReportViews views;
  std::string coverage;
  bool tables = false;
  bool quiet = false;
  int jobs = 1;
};

/// What is said of one scenario: at once, or (side by side with others) when its turn comes.
class Printer {
 public:
  explicit Printer(bool at_once) : at_once_(at_once) {}

  void say(const std::string& text) {
    if (!at_once_) {
      kept_ += text;
      return;
    }
    fmt::print("{}", text);
    (void)std::fflush(stdout);
  }
  [[nodiscard]] const std::string& kept() const { return kept_; }

 private:
  bool at_once_;
  std::string kept_;
};

std::string indented(std::string_view text, const char* by) {
  std::string lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines += fmt::format("{}{}\n", by, text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string step_text(const StepResult& step, const RunArguments& arguments) {
  std::string text;
  if (!arguments.quiet) {
    text = fmt::format("    {} {} ({})\n", step.good ? "ok   " : "WRONG", step.title,
                       format_seconds(step.elapsed));
  }
  if ((arguments.tables || !step.good) && !step.rows.empty()) {
    text += "\n" + indented(container_table(step.rows), "      ") + "\n";
  }
  return text;
}

std::string result_text(const ScenarioResult& result, std::size_t number, std::size_t count) {
  std::string text = fmt::format(
      "[{}/{}] {} {}: {} ({}, ready after {}{})\n", number, count, result.good() ? "ok  " : "FAIL",
      full_name(result.name, to_string(result.machine.platform)), to_string(result.verdict),
      format_seconds(result.elapsed), format_seconds(result.until_ready),
      result.restored ? " from a snapshot" : "");
  if (result.good() && result.expected != Verdict::kPassed) {
    text += fmt::format("    as it must: {}\n", result.message);
  }
  for (const std::string& note : result.notes) text += fmt::format("    note: {}\n", note);
  if (result.good()) return text;
  if (result.expected != Verdict::kPassed) {
    text += fmt::format("    expected: {}{}{}\n", to_string(result.expected),
                        result.because.empty() ? "" : ", because: ", result.because);
  }
  text += indented(result.message, "    ");
  if (!result.console.empty()) {
    text += "    end of the guest's console:\n" + indented(result.console, "    | ");
  }
  return text;
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

/// Runs scenarios, as many side by side as was asked for, and tells of them in their order.
class Batch {
 public:
  Batch(const RunArguments& arguments, const RunOptions& options,
        const std::vector<FoundScenario>& scenarios)
      : arguments_(arguments),
        options_(options),
        scenarios_(scenarios),
        results_(scenarios.size()),
        texts_(scenarios.size()) {}

  /// The results up to the first one that was interrupted.
  std::vector<ScenarioResult> run() {
    std::vector<std::thread> workers;
    for (int i = 1; i < arguments_.jobs; ++i) workers.emplace_back([this] { work(); });
    work();
    for (std::thread& worker : workers) worker.join();
    std::vector<ScenarioResult> finished;
    for (auto& result : results_) {
      if (!result) break;
      finished.push_back(std::move(*result));
      if (finished.back().verdict == Verdict::kInterrupted) break;
    }
    return finished;
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < scenarios_.size() && !interrupted_; i = next_++) run_one(i);
  }

  void run_one(std::size_t i) {
    Printer printer(arguments_.jobs == 1);
    RunOptions options = options_;
    if (!arguments_.quiet) {
      options.on_progress = [&](const std::string& text) { printer.say("    " + text + "\n"); };
      printer.say(
          fmt::format("[{}/{}] {}\n", i + 1, scenarios_.size(), full_name(scenarios_[i].scenario)));
    }
    options.on_step = [&](const StepResult& step) { printer.say(step_text(step, arguments_)); };
    ScenarioResult result = run_scenario(scenarios_[i].scenario, options);
    result.file = scenarios_[i].file;
    printer.say(result_text(result, i + 1, scenarios_.size()));
    if (result.verdict == Verdict::kInterrupted) interrupted_ = true;
    const std::lock_guard lock(mutex_);
    texts_[i] = printer.kept();
    results_[i] = std::move(result);
    for (; told_ < results_.size() && results_[told_]; ++told_) fmt::print("{}", texts_[told_]);
    (void)std::fflush(stdout);
  }

  const RunArguments& arguments_;
  const RunOptions& options_;
  const std::vector<FoundScenario>& scenarios_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> interrupted_{false};
  std::mutex mutex_;
  std::vector<std::optional<ScenarioResult>> results_;
  std::vector<std::string> texts_;
  std::size_t told_ = 0;
};

int run_all(const RunArguments& arguments, int interrupt_fd) {
  auto options = make_run_options(arguments.common, interrupt_fd);
  if (!options) return report(options.error());
  auto names = arguments.files;
  if (names.empty()) names = shipped_scenarios();
  const auto scenarios = find_scenarios(names, arguments.platforms);
  if (!scenarios) return report(scenarios.error());
  (void)sweep_temporary_folders();
  options->coverage = arguments.coverage;
  const auto results = Batch(arguments, *options, *scenarios).run();
  if (const int wrote = write_reports(arguments, results); wrote != kGood) return wrote;
  if (results.size() < scenarios->size() || results.back().verdict == Verdict::kInterrupted) {
    return kBadRequest;
  }
  const bool good = std::all_of(results.begin(), results.end(),
                                [](const ScenarioResult& result) { return result.good(); });
  return good ? kGood : kBad;
}

void print_line(const Scenario& scenario) {
  const VmMachine& machine = scenario.machine;
  fmt::print("{:<28} {:<15} {:>3} CPUs {:>2} nodes  {:<14} {}\n", scenario.name,
             to_string(machine.platform), machine.cpu_count(), machine.nodes.size(),
             to_string(scenario.verdict), scenario.description);
}

/// Goes on after a file that is wrong: the others are checked too.
int list_all(const std::vector<std::string>& names, const std::vector<std::string>& platforms) {
  const auto files = find_files(names);
  if (!files) return report(files.error());
  int status = kGood;
  for (const auto& file : *files) {
    const auto scenarios = load_scenarios(file);
    if (!scenarios) {
      status = report(scenarios.error());
      continue;
    }
    for (const Scenario& scenario : *scenarios) {
      if (is_selected(scenario, platforms)) print_line(scenario);
    }
  }
  return status;
}

}  // namespace

void add_run(CLI::App& app, int interrupt_fd, int& exit_status) {
  CLI::App* command = app.add_subcommand("run", "Run scenario files, or all in a folder");
  auto arguments = std::make_shared<RunArguments>();
  add_common_options(*command, arguments->common);
  command->add_option("scenario", arguments->files,
                      "Scenario files or folders [all that come with Pinfold]");
  add_platform_option(*command, arguments->platforms);
  command->add_option("--json", arguments->json_file, "Write the results to this file");
  add_view_options(*command, arguments->views);
  command->add_option("--coverage", arguments->coverage,
                      "Bring what guests' programs have counted for gcov into this folder");
  command->add_flag("--tables", arguments->tables, "Print the table of every verify step");
  command->add_option("-j,--jobs", arguments->jobs, "Run so many scenarios side by side")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_flag("-q,--quiet", arguments->quiet, "One line for each scenario");
  command->callback([=, &exit_status] { exit_status = run_all(*arguments, interrupt_fd); });
}

void add_demo(CLI::App& app, int interrupt_fd, int& exit_status) {
  CLI::App* command = app.add_subcommand(
      "demo", "Pods on two NUMA nodes: what was decided, and what the kernel has");
  auto arguments = std::make_shared<RunArguments>();
  arguments->files = {kSourceFolder + "/tests/vm/scenarios/two-numa.yaml"};
  arguments->platforms = {to_string(Platform{})};
  arguments->tables = true;
  command->add_option("--json", arguments->json_file, "Write the results to this file");
  add_common_options(*command, arguments->common);
  command->callback([=, &exit_status] { exit_status = run_all(*arguments, interrupt_fd); });
}

void add_list(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand(
      "list", "Check scenario files, and list each scenario with its kernels and cgroup versions");
  auto names = std::make_shared<std::vector<std::string>>();
  auto platforms = std::make_shared<std::vector<std::string>>();
  command->add_option("scenario", *names, "Scenario files or folders [all that come with Pinfold]");
  add_platform_option(*command, *platforms);
  command->callback([=, &exit_status] {
    exit_status = list_all(names->empty() ? shipped_scenarios() : *names, *platforms);
  });
}

}  // namespace pinfold::harness
