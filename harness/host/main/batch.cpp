#include "batch.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "pinfold/harness/container_table.hpp"
#include "pinfold/harness/costs.hpp"
#include "pinfold/harness/guest_session.hpp"
#include "pinfold/harness/preflight.hpp"
#include "pinfold/harness/scenario_queue.hpp"

namespace pinfold::harness {
namespace {

/// Prints the progress of a scenario: at once, or all at its end if scenarios run in parallel.
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
  const std::string name = full_name(result.name, to_string(result.machine.platform));
  if (result.verdict == Verdict::kSkipped) {
    return fmt::format("[{}/{}] skip {}: {}\n", number, count, name, result.message);
  }
  std::string text = fmt::format("[{}/{}] {} {}: {} ({}, ready after {}{})\n", number, count,
                                 result.ok() ? "ok  " : "FAIL", name, to_string(result.verdict),
                                 format_seconds(result.elapsed), format_seconds(result.until_ready),
                                 result.reset      ? ", reset"
                                 : result.restored ? " from a snapshot"
                                                   : "");
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
  if (result.reset) {
    text +=
        "    ran in the guest of the previous scenario after a reset; --no-snapshots starts "
        "one for each\n";
  }
  if (!result.console.empty()) {
    text += "    end of the guest's console:\n" + indented(result.console, "    | ");
  }
  return text;
}

std::vector<const Scenario*> scenarios_of(const std::vector<FoundScenario>& found) {
  std::vector<const Scenario*> scenarios;
  scenarios.reserve(found.size());
  for (const FoundScenario& one : found) scenarios.push_back(&one.scenario);
  return scenarios;
}

/// Returns the result of a scenario that this host cannot start.
ScenarioResult result_without_run(const FoundScenario& found) {
  ScenarioResult result;
  result.name = found.scenario.name;
  result.description = found.scenario.description;
  result.machine = found.scenario.machine;
  result.expected = found.scenario.verdict;
  result.because = found.scenario.because;
  result.message = found.problem;
  return result;
}

/// Runs scenarios, up to --jobs in parallel, and prints each result when its scenario has ended.
class Batch {
 public:
  Batch(const RunArguments& arguments, const RunOptions& options,
        const std::vector<FoundScenario>& scenarios,
        const std::function<void(const ScenarioResult&)>& on_result)
      : arguments_(arguments),
        on_result_(on_result),
        options_(options),
        scenarios_(scenarios),
        // Coverage belongs to one scenario, and --no-snapshots boots for each.
        queue_(scenarios_of(scenarios), options.use_snapshots && options.coverage.empty()),
        results_(scenarios.size()) {}

  /// Returns the results of the scenarios that ran, in order.
  std::vector<ScenarioResult> run() {
    std::vector<std::thread> workers;
    for (int i = 1; i < arguments_.jobs; ++i) workers.emplace_back([this] { work(); });
    work();
    for (std::thread& worker : workers) worker.join();
    std::vector<ScenarioResult> finished;
    for (auto& result : results_) {
      if (result) finished.push_back(std::move(*result));
    }
    return finished;
  }

 private:
  void work() {
    while (const auto group = queue_.take_group()) {
      SharedGuest guest;
      while (const auto turn = queue_.next(*group)) {
        guest.is_wanted = !turn->is_last;
        run_one(turn->scenario, guest);
        if (interrupted_) return;
      }
    }
  }

  void run_one(std::size_t i, SharedGuest& guest) {
    Printer printer(arguments_.jobs == 1);
    RunOptions options = options_;
    const std::size_t number = ++started_;
    if (!arguments_.quiet) {
      options.on_progress = [&](const std::string& text) { printer.say("    " + text + "\n"); };
      printer.say(fmt::format("[{}/{}] {}\n", number, scenarios_.size(),
                              full_name(scenarios_[i].scenario)));
    }
    options.on_step = [&](const StepResult& step) { printer.say(step_text(step, arguments_)); };
    ScenarioResult result = scenarios_[i].problem.empty()
                                ? run_scenario(scenarios_[i].scenario, options, guest)
                                : result_without_run(scenarios_[i]);
    result.file = scenarios_[i].file;
    printer.say(result_text(result, number, scenarios_.size()));
    if (result.verdict == Verdict::kInterrupted) interrupted_ = true;
    const std::lock_guard lock(mutex_);
    on_result_(result);
    results_[i] = std::move(result);
    fmt::print("{}", printer.kept());
    (void)std::fflush(stdout);
  }

  const RunArguments& arguments_;
  const std::function<void(const ScenarioResult&)>& on_result_;
  const RunOptions& options_;
  const std::vector<FoundScenario>& scenarios_;
  ScenarioQueue queue_;
  std::atomic<std::size_t> started_{0};
  std::atomic<bool> interrupted_{false};
  std::mutex mutex_;
  std::vector<std::optional<ScenarioResult>> results_;
};

}  // namespace

std::vector<ScenarioResult> run_batch(const RunArguments& arguments, const RunOptions& options,
                                      const std::vector<FoundScenario>& scenarios,
                                      const std::function<void(const ScenarioResult&)>& on_result) {
  return Batch(arguments, options, scenarios, on_result).run();
}

bool was_interrupted(const std::vector<ScenarioResult>& results, std::size_t count) {
  return results.size() < count ||
         std::any_of(results.begin(), results.end(), [](const ScenarioResult& result) {
           return result.verdict == Verdict::kInterrupted;
         });
}

bool can_start(std::vector<FoundScenario>& found, const RunOptions& options, int jobs) {
  std::vector<const Scenario*> scenarios;
  std::vector<FoundScenario*> started;
  for (FoundScenario& one : found) {
    if (!one.scenario.skipped.empty()) continue;
    scenarios.push_back(&one.scenario);
    started.push_back(&one);
  }
  if (scenarios.empty()) return true;
  const Preflight checked = preflight(scenarios, options, jobs);
  pollfd interrupt = {options.interrupt_fd, POLLIN, 0};
  // Ctrl-C in a terminal also ends the download programs.
  if (poll(&interrupt, 1, 0) == 1) {
    (void)report({ErrorCode::kIo, 0, "interrupted"});
    return false;
  }
  for (const std::string& one : checked.problems) (void)report({ErrorCode::kUnsupported, 0, one});
  for (std::size_t i = 0; i < started.size(); ++i) started[i]->problem = checked.of_scenarios[i];
  return checked.problems.empty();
}

}  // namespace pinfold::harness
