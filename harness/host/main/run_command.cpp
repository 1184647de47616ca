#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "command.hpp"
#include "parts.hpp"
#include "pinfold/harness/costs.hpp"
#include "pinfold/harness/preflight.hpp"
#include "pinfold/harness/report.hpp"
#include "pinfold/harness/session.hpp"

namespace pinfold::harness {
namespace {

/// Prints the progress of one scenario: at once, or keeps it for its turn among parallel ones.
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
    text = fmt::format("    {} {} ({})\n", step.ok ? "ok   " : "WRONG", step.title,
                       format_seconds(step.elapsed));
  }
  if ((arguments.tables || !step.ok) && !step.rows.empty()) {
    text += "\n" + indented(container_table(step.rows), "      ") + "\n";
  }
  return text;
}

std::string result_text(const ScenarioResult& result, std::size_t number, std::size_t count) {
  std::string text = fmt::format(
      "[{}/{}] {} {}: {} ({}, ready after {}{})\n", number, count, result.ok() ? "ok  " : "FAIL",
      full_name(result.name, to_string(result.machine.platform)), to_string(result.verdict),
      format_seconds(result.elapsed), format_seconds(result.until_ready),
      result.restored ? " from a snapshot" : "");
  if (result.ok() && result.expected != Verdict::kPassed) {
    text += fmt::format("    as expected: {}\n", result.message);
  }
  for (const std::string& note : result.notes) text += fmt::format("    note: {}\n", note);
  if (result.ok()) return text;
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

/// Runs scenarios, up to --jobs in parallel, and prints their results in order.
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
    for (; printed_ < results_.size() && results_[printed_]; ++printed_)
      fmt::print("{}", texts_[printed_]);
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
  std::size_t printed_ = 0;
};

/// False if the host lacks something; nothing is started then.
bool can_start(const std::vector<FoundScenario>& found, const RunOptions& options, int jobs) {
  std::vector<const Scenario*> scenarios;
  scenarios.reserve(found.size());
  for (const FoundScenario& one : found) scenarios.push_back(&one.scenario);
  const auto problems = preflight(scenarios, options, jobs);
  pollfd interrupt = {options.interrupt_fd, POLLIN, 0};
  // Ctrl-C in a terminal also ends the programs that download.
  if (!problems.empty() && poll(&interrupt, 1, 0) == 1) {
    (void)report({ErrorCode::kIo, 0, "interrupted"});
    return false;
  }
  for (const std::string& problem : problems) (void)report({ErrorCode::kUnsupported, 0, problem});
  return problems.empty();
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
  const auto scenarios = find_scenarios(arguments.selection);
  if (!scenarios) return report(scenarios.error());
  (void)sweep_temporary_folders();
  options->coverage = arguments.coverage;
  options->keep = arguments.keep;
  if (!can_start(*scenarios, *options, arguments.jobs)) return kUsageError;
  const auto results = Batch(arguments, *options, *scenarios).run();
  if (const int wrote = write_reports(arguments, results); wrote != kOk) return wrote;
  if (results.size() < scenarios->size() || results.back().verdict == Verdict::kInterrupted) {
    return kUsageError;
  }
  const bool ok = std::all_of(results.begin(), results.end(),
                              [](const ScenarioResult& result) { return result.ok(); });
  return ok ? kOk : kFailed;
}

}  // namespace pinfold::harness
