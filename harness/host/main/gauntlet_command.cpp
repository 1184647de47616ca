#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "batch.hpp"
#include "bisect.hpp"
#include "command.hpp"
#include "kernels.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/harness/fingerprint.hpp"
#include "pinfold/harness/gauntlet.hpp"
#include "pinfold/harness/machine_copy.hpp"
#include "pinfold/harness/machine_set.hpp"
#include "pinfold/harness/machines.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/read_scenarios.hpp"
#include "pinfold/harness/report.hpp"
#include "pinfold/harness/run.hpp"
#include "pinfold/harness/scenario_sum.hpp"
#include "pinfold/harness/temporary_folder.hpp"
#include "pinfold/text/document.hpp"
#include "reducer.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kMaxResultsFile = std::size_t{1} << 30U;
/// A machine of the set "small" has at most this many CPUs and NUMA nodes.
constexpr int kSmallCpus = 8;
constexpr std::size_t kSmallNodes = 4;
constexpr std::chrono::seconds kBetweenSaves(10);

/// A gauntlet: the scenario's document and the cases made from it.
// NOLINTNEXTLINE(bugprone-exception-escape): about json, whose moving asserts
struct Gauntlet {
  fs::path file;
  Json document;
  std::string sum;  ///< of the file
  std::vector<GauntletCase> cases;
};

/// A run of the gauntlet, ready to start.
struct OpenCase {
  Scenario scenario;
  std::string sum;  ///< of everything on which its result depends
};

/// Returns a text of an object; "" if it has none.
std::string text_in(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string()
             ? found->get<std::string>()
             : "";
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

/// Reads the machines of a file like machines.yaml.
Result<std::vector<SetMachine>> machines_of_file(const std::string& file) {
  PINFOLD_LET_WRAP(const auto text, read_file(file), "--machines");
  PINFOLD_LET_WRAP(const auto named, parse_machines(text), "'" + file + "'");
  if (named.empty()) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("--machines: '{}' has no machines, expected NAME: MACHINE for each", file));
  }
  std::vector<SetMachine> machines;
  for (const auto& [name, machine] : named) {
    PINFOLD_LET_WRAP(auto read, read_machine_json(machine), fmt::format("'{}': {}", file, name));
    machines.push_back({name, std::move(read), {}});
  }
  return machines;
}

Result<std::vector<SetMachine>> machines_named(const std::string& set, std::uint64_t memory) {
  if (set != "all" && set != "small") return machines_of_file(set);
  std::vector<SetMachine> machines = machine_set(memory);
  if (set == "small") {
    std::erase_if(machines, [](const SetMachine& one) {
      return one.machine.cpu_count() > kSmallCpus || one.machine.nodes.size() > kSmallNodes;
    });
  }
  return machines;
}

/// Returns the kernels of --kernels: names, or "all"; without any, the scenario's own.
Result<std::vector<std::string>> kernels_named(const std::vector<std::string>& names,
                                               const std::vector<Platform>& own) {
  std::vector<std::string> kernels;
  for (const std::string& name : names) {
    if (name == "all") {
      kernels.insert(kernels.end(), std::begin(kKernels), std::end(kKernels));
      continue;
    }
    PINFOLD_TRY_WRAP(check_kernel(name), "--kernels " + name);
    kernels.push_back(name);
  }
  for (const Platform& platform : own) {
    if (names.empty()) kernels.push_back(platform.kernel);
  }
  return kernels;
}

Result<Gauntlet> read_gauntlet(const GauntletArguments& arguments) {
  const fs::path file = arguments.selection.files.front();
  PINFOLD_LET(const auto text, read_file(file.string()));
  PINFOLD_LET(const auto scenarios, load_scenarios(file));
  Gauntlet gauntlet{file, {}, Fingerprint().add(text).to_string(), {}};
  PINFOLD_LET(gauntlet.document, parse_document(text));
  std::vector<Platform> own;
  own.reserve(scenarios.size());
  for (const Scenario& scenario : scenarios) own.push_back(scenario.machine.platform);
  PINFOLD_LET(const auto kernels, kernels_named(arguments.kernels, own));
  const Scenario& first = scenarios.front();
  PINFOLD_LET(const auto machines, machines_named(arguments.machines, first.machine.memory()));
  const auto platforms = platforms_on(kernels, own);
  if (platforms.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--kernels: none of them has a cgroup version of '{}', which are {}",
                            first.name, to_string(own)));
  }
  gauntlet.cases = gauntlet_cases(gauntlet.document, first, machines, platforms);
  if (gauntlet.cases.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--machines {}: none of them can run on {}", arguments.machines,
                            to_string(platforms)));
  }
  return Result<Gauntlet>(std::move(gauntlet));
}

/// The results of a gauntlet, in a file from which a later run continues.
class GauntletResults {
 public:
  /// Reads the results of an earlier run, if there are any. Errors: kInvalidArgument for those of
  /// another scenario.
  [[nodiscard]] static Result<GauntletResults> open(const fs::path& file, const std::string& sum) {
    GauntletResults results(file, sum);
    std::error_code failed;
    if (!fs::exists(file, failed)) return Result<GauntletResults>(std::move(results));
    PINFOLD_LET(const auto text, read_file(file.string(), kMaxResultsFile));
    PINFOLD_LET_WRAP(Json report, parse_report(text), "'" + file.string() + "'");
    if (text_in(report, "gauntlet") != sum) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}': results of another scenario, or of this one before it was "
                              "changed; remove it, or name another --results",
                              file.string()));
    }
    results.earlier_ = std::move(report["scenarios"]);
    if (report["cases"].is_object()) results.sums_ = std::move(report["cases"]);
    if (report["reduced"].is_array()) results.reduced_ = std::move(report["reduced"]);
    return Result<GauntletResults>(std::move(results));
  }

  /// Returns true if there is a result that need not be repeated. One with another machine or other
  /// programs is removed, and so are reduced failures, which may have another cause now.
  [[nodiscard]] bool keeps(const OpenCase& one) {
    const std::string name = full_name(one.scenario);
    const auto found = std::find_if(earlier_.begin(), earlier_.end(), [&](const Json& each) {
      return full_name(text_in(each, "name"), text_in(each, "on")) == name;
    });
    if (found != earlier_.end() && text_in(sums_, name.c_str()) == one.sum) return true;
    if (found != earlier_.end()) {
      earlier_.erase(found);
      reduced_ = Json::array();
    }
    sums_[name] = one.sum;
    return false;
  }
  void add(const ScenarioResult& result) {
    if (result.verdict == Verdict::kInterrupted || result.verdict == Verdict::kHarnessError) return;
    new_.push_back(result);
    if (Clock::now() - saved_ <= kBetweenSaves) return;
    const auto saved = save();
    if (!saved && !std::exchange(has_warned_, true)) (void)harness::report(saved.error());
  }
  /// All results, in the form of report_json.
  [[nodiscard]] Json report() const {
    Json all = report_json(new_);
    all["gauntlet"] = sum_;
    all["cases"] = sums_;
    all["reduced"] = reduced_;
    for (const Json& one : earlier_) {
      all["ok"] = all["ok"].get<bool>() && one.value("ok", false);
      all["scenarios"].push_back(one);
    }
    return all;
  }
  [[nodiscard]] Result<void> save() {
    saved_ = Clock::now();
    return write_file(file_, text_of(report()));
  }
  /// Returns true if a failure of this kind has been reduced.
  [[nodiscard]] bool has_reduced(const FailureKind& kind) const {
    return std::any_of(reduced_.begin(), reduced_.end(), [&](const Json& one) {
      return text_in(one, "verdict") == kind.verdict && text_in(one, "step") == kind.step;
    });
  }
  void add_reduced(const FailureKind& kind, const std::string& scenario, const Json& bisected) {
    reduced_.push_back({{"verdict", kind.verdict}, {"step", kind.step}, {"scenario", scenario}});
    reduced_.back().update(bisected);
  }

 private:
  GauntletResults(fs::path file, std::string sum) : file_(std::move(file)), sum_(std::move(sum)) {}

  fs::path file_;
  std::string sum_;
  bool has_warned_ = false;
  Json earlier_ = Json::array();
  Json sums_ = Json::object();  ///< of the runs, by full name
  std::vector<ScenarioResult> new_;
  Json reduced_ = Json::array();
  Clock::time_point saved_ = Clock::now();
};

/// Returns the case of a scenario in a report; nullptr if there is none.
const GauntletCase* case_of(const Gauntlet& gauntlet, const Json& scenario) {
  const auto found =
      std::find_if(gauntlet.cases.begin(), gauntlet.cases.end(), [&](const GauntletCase& one) {
        return text_in(one.document, "name") == text_in(scenario, "name") &&
               to_string(one.platform) == text_in(scenario, "on");
      });
  return found == gauntlet.cases.end() ? nullptr : &*found;
}

/// Reduces the first failure of each kind, unless an earlier run has.
void reduce_failures(const Gauntlet& gauntlet, const Bisection& bisection,
                     const RunOptions& options, GauntletResults& results) {
  const Json report = results.report();
  for (const Json& scenario : report.at("scenarios")) {
    const FailureKind kind = kind_of(scenario);
    const GauntletCase* const one = case_of(gauntlet, scenario);
    if (scenario.value("ok", false) || one == nullptr || results.has_reduced(kind)) continue;
    fmt::print("reducing {}\n", full_name(text_in(scenario, "name"), text_in(scenario, "on")));
    Reducer reducer(gauntlet.file, *one, kind, options);
    const GauntletCase least = reducer.reduce();
    if (reducer.is_interrupted()) return;
    const std::string message = text_in(scenario, "message");
    const std::string yaml = short_yaml(least.document, least.platform);
    fmt::print("\n# fails: {}\n# Paths are relative to the folder of '{}'.\n{}\n",
               message.substr(0, message.find('\n')), gauntlet.file.string(), yaml);
    results.add_reduced(kind, yaml, bisection.run(reducer, least));
  }
}

/// Loads the cases that have no result yet.
Result<std::vector<FoundScenario>> open_cases(const Gauntlet& gauntlet, const RunOptions& options,
                                              GauntletResults& results) {
  std::vector<FoundScenario> found;
  PINFOLD_LET(const auto first, load_case(gauntlet.cases.front(), gauntlet.file));
  const std::string inputs = sum_of_inputs(first, options);
  for (const GauntletCase& each : gauntlet.cases) {
    PINFOLD_LET(auto scenario, load_case(each, gauntlet.file));
    OpenCase one{std::move(scenario),
                 Fingerprint().add(inputs).add(each.document.dump()).to_string()};
    if (!results.keeps(one)) found.push_back({gauntlet.file, std::move(one.scenario)});
  }
  return found;
}

/// Checks that everything that is written at the end can be.
Result<void> check_outputs(const GauntletArguments& arguments, const fs::path& results) {
  PINFOLD_TRY_WRAP(check_writable(results), "--results");
  return check_views(arguments.views);
}

RunArguments batch_arguments(const GauntletArguments& arguments) {
  RunArguments batch;
  batch.common = arguments.common;
  batch.jobs = arguments.jobs;
  batch.quiet = true;
  return batch;
}

fs::path results_file(const GauntletArguments& arguments) {
  if (!arguments.results.empty()) return arguments.results;
  return fs::path(arguments.selection.files.front()).stem().string() + ".gauntlet.json";
}

}  // namespace

int run_gauntlet(const GauntletArguments& arguments, int interrupt_fd) {
  auto options = make_run_options(arguments.common, interrupt_fd);
  if (!options) return report(options.error());
  const auto gauntlet = read_gauntlet(arguments);
  if (!gauntlet) return report(gauntlet.error());
  const auto bisection = Bisection::plan(arguments.bisect, arguments.build, interrupt_fd);
  if (!bisection) return report(bisection.error());
  auto results = GauntletResults::open(results_file(arguments), gauntlet->sum);
  if (!results) return report(results.error());
  const auto can_write = check_outputs(arguments, results_file(arguments));
  if (!can_write) return report(can_write.error());
  auto open = open_cases(*gauntlet, *options, *results);
  if (!open) return report(open.error());
  fmt::print("{} cases, {} of them have a result in '{}'\n", gauntlet->cases.size(),
             gauntlet->cases.size() - open->size(), results_file(arguments).string());
  (void)sweep_temporary_folders();
  if (!open->empty() && !can_start(*open, *options, arguments.jobs)) return kUsageError;
  const auto ran = run_batch(batch_arguments(arguments), *options, *open,
                             [&](const ScenarioResult& result) { results->add(result); });
  if (!was_interrupted(ran, open->size())) {
    reduce_failures(*gauntlet, *bisection, *options, *results);
  }
  if (auto saved = results->save(); !saved) return report(saved.error());
  const Json all = results->report();
  if (const int wrote = write_views(all, arguments.views); wrote != kOk) return wrote;
  if (was_interrupted(ran, open->size())) return kUsageError;
  const bool ok =
      std::all_of(ran.begin(), ran.end(), [](const ScenarioResult& result) { return result.ok(); });
  return ok && all.value("ok", false) ? kOk : kFailed;
}

}  // namespace pinfold::harness
