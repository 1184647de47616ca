#include "pinfold/simulate/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.hpp"
#include "documents.hpp"
#include "output.hpp"
#include "pinfold/text/message.hpp"
#include "what_if/simulate_cluster.hpp"
#include "what_if/simulate_pods.hpp"

namespace pinfold::tools {
namespace {

using nlohmann::json;

struct SimulateOptions {
  SimulatedPods pods;  ///< its files are also those of a replay
  std::optional<std::string> cluster;
  bool compare = false;
  int bench = 0;
  std::string only;
  int show = 20;
};

struct MatchCount {
  int exact = 0;
  int all = 0;
};

std::string text_of(const json& vector, const char* key, const char* otherwise) {
  const auto found = vector.find(key);
  return found != vector.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

std::string name_of(const json& vector) { return text_of(vector, "name", ""); }

/// Returns false for vectors that --only excludes; they are not counted.
bool is_chosen(const SimulateOptions& options, const json& vector) {
  return options.only.empty() || name_of(vector).find(options.only) != std::string::npos;
}

Result<void> print_outcomes(Profile profile, const json& vector) {
  PINFOLD_LET(auto result, simulate::play(vector, profile));
  fmt::print("{}\n", result.dump());
  return {};
}

Result<void> print_times(const SimulateOptions& options, Profile profile, const json& vector) {
  PINFOLD_LET(auto times, simulate::time_admissions(vector, profile, options.bench));
  BenchLine line{name_of(vector), times.size(), {}, {}};
  if (!times.empty()) {
    std::sort(times.begin(), times.end());
    line.p50 = std::chrono::nanoseconds(times[times.size() / 2]);
    line.p99 = std::chrono::nanoseconds(times[(times.size() - 1) * 99 / 100]);
  }
  fmt::print("{}", json_text(line, -1));
  return {};
}

std::string shorten(const std::string& text) {
  constexpr std::size_t kMost = 400;
  return escaped(text.size() <= kMost ? text : text.substr(0, kMost) + "...");
}

class Comparer {
 public:
  explicit Comparer(const SimulateOptions& options) : options_(options) {}

  Result<void> add(Profile profile, const json& vector) {
    PINFOLD_LET(auto result, simulate::play(vector, profile));
    MatchCount& tally = groups_[escaped(text_of(vector, "group", "(no group)"))];
    ++tally.all;
    const auto differences = simulate::compare(vector, result);
    if (differences.empty()) {
      ++tally.exact;
      return {};
    }
    if (++printed_ > options_.show) return {};
    fmt::print("{}: {} difference{}\n", escaped(name_of(vector)), differences.size(),
               differences.size() == 1 ? "" : "s");
    const auto& first = differences.front();
    fmt::print("  {}\n    expected {}\n    actual   {}\n", escaped(first.where),
               shorten(first.expected), shorten(first.actual));
    return {};
  }

  [[nodiscard]] ExitStatus finish() const {
    MatchCount sum;
    for (const auto& [group, tally] : groups_) {
      sum.exact += tally.exact;
      sum.all += tally.all;
    }
    if (printed_ > options_.show) {
      fmt::print("... and {} more vectors with differences\n", printed_ - options_.show);
    }
    std::size_t width = 3;
    for (const auto& [group, tally] : groups_) width = std::max(width, group.size());
    fmt::print("\n{:<{}}  {:>6}  {:>6}\n", "group", width, "exact", "all");
    for (const auto& [group, tally] : groups_) {
      fmt::print("{:<{}}  {:>6}  {:>6}{}\n", group, width, tally.exact, tally.all,
                 tally.exact == tally.all ? "" : "  <--");
    }
    fmt::print("{:<{}}  {:>6}  {:>6}\n", "all", width, sum.exact, sum.all);
    return sum.exact == sum.all ? kYes : kNo;
  }

 private:
  const SimulateOptions& options_;
  std::map<std::string, MatchCount> groups_;
  int printed_ = 0;
};

Result<ExitStatus> replay_all(const SimulateOptions& options) {
  const std::string& name = options.pods.profile;
  PINFOLD_LET_WRAP(const auto profile, parse_profile(name.empty() ? "kubelet-1.36" : name),
                   "--profile");
  if (options.pods.files.empty()) {
    return fail(ErrorCode::kInvalidArgument, "FILE: expected a file with recorded histories");
  }
  Comparer comparer(options);
  int bad_lines = 0;
  const auto report_line = [&](const Error& error) {
    (void)report(error);
    ++bad_lines;
  };
  for (const std::string& file : options.pods.files) {
    const auto replay = [&](const json& vector) -> Result<void> {
      if (!is_chosen(options, vector)) return {};
      if (options.bench > 0) return print_times(options, profile, vector);
      if (options.compare) return comparer.add(profile, vector);
      return print_outcomes(profile, vector);
    };
    PINFOLD_TRY(simulate::for_each_vector(file, replay, report_line));
  }
  const ExitStatus status = options.compare ? comparer.finish() : kYes;
  if (bad_lines == 0) return status;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} line{} could not be replayed", bad_lines, bad_lines == 1 ? "" : "s"));
}

Result<ExitStatus> run(const SimulateOptions& options) {
  if (options.cluster) return simulate_cluster_of(*options.cluster, options.pods.output);
  return options.pods.is_asked_for() ? simulate_pods_of(options.pods) : replay_all(options);
}

/// Options to simulate pods; each of them, except the output, selects that.
std::vector<cli::Option> pods_options(SimulatedPods& pods) {
  const std::vector<std::string> of_replays = {"--compare", "--bench", "--only", "--show"};
  return {
      {.name = "--machine",
       .target = &pods.machine,
       .help = "Admit the pods of FILE on this machine, in any form that 'pinfold topology "
               "--machine' reads [discovered]",
       .value = "FILE",
       .excludes = of_replays},
      {.name = "--synthetic",
       .target = &pods.synthetic,
       .help = "The same on an hwloc synthetic topology: 'pack:2 core:4 pu:2'",
       .value = "STRING",
       .excludes = {"--machine", "--compare", "--bench", "--only", "--show"}},
      {.name = "--config",
       .target = &pods.config,
       .help = "KubeletConfiguration, YAML or JSON [the kubelet's defaults, or that of the "
               "state directory]",
       .value = "FILE",
       .excludes = of_replays},
      kubelet_flags_option(pods.kubelet_flags),
      {.name = "--compare-config",
       .target = &pods.compared,
       .help = "The same pods under two configurations, A and B, side by side",
       .value = "A B",
       .excludes = {"--config", "--compare", "--bench", "--only", "--show"}},
      {.name = "--workload",
       .target = &pods.workload,
       .help = "Generated pods that come and go: general, pinned or large, with "
               ":seed=N,pods=N,lifetime=PERCENT",
       .value = "MIX",
       .excludes = of_replays,
       .suggestions = {"general", "pinned", "large"}},
      {.name = "--state-dir",
       .target = &pods.state_dir,
       .help =
           "Use the machine and the pods of this node, in the order of their admission; without "
           "--compare-config compare with what they have now. Changes nothing",
       .value = "DIR",
       .excludes = {"--machine", "--synthetic", "--workload", "--compare", "--bench", "--only",
                    "--show"}},
      insecure_state_dir_option(pods.insecure_state_dir),
      {"--picture", &pods.picture, "With pods: draw the node afterwards"},
      output_option(pods.output)};
}

}  // namespace

cli::Command simulate_command() {
  auto options = std::make_shared<SimulateOptions>();
  constexpr int kMost = std::numeric_limits<int>::max();
  cli::Command command{
      "simulate",
      "Admit pods on a hypothetical machine, compare two configurations, or replay recorded "
      "node histories"};
  command.add(pods_options(options->pods));
  command.add(
      {{.name = "FILE",
        .target = &options->pods.files,
        .help = "Pod manifests, YAML or JSON; without an option for pods, conformance vectors: one "
                "JSON object per line, plain or gzip; - for standard input"},
       {.name = "--cluster",
        .target = &options->cluster,
        .help = "Schedule generated pods on many nodes whose kubelets decide, without and with "
                "predictions: nodes=5000,pods=10000,seed=1,delay=SECONDS,score=pack|spread",
        .value = "PLAN",
        .excludes = {"--machine", "--synthetic", "--config", "--compare-config", "--workload",
                     "--state-dir", "--compare", "--bench", "--only", "--show", "--picture"}},
       {"--compare", &options->compare,
        "Compare with the expected results in the input, print the differences and a table; exit "
        "status 1 if there are differences"},
       {.name = "--bench",
        .target = cli::Integer{&options->bench, 1, kMost},
        .help = "Replay each vector N times and print the time per admission (p50, p99) as JSON",
        .excludes = {"--compare"}},
       {.name = "--profile",
        .target = &options->pods.profile,
        .help = "kubelet-1.36, -1.37 or -1.38 (with the known bugs of that kubelet), or fixed "
                "(without) [kubelet-1.36; with pods: from the configuration, else fixed]",
        .value = "NAME",
        .suggestions = profile_names()},
       {"--only", &options->only, "Replay only vectors whose name contains TEXT"},
       {"--show", cli::Integer{&options->show, 0, kMost},
        "Print at most N vectors with differences"}});
  command.sections = {{"Examples",
                       {{"pinfold simulate --machine node.json --config config.yaml pod.yaml",
                         "Print what the pods get on a machine, and what stays free"},
                        {"pinfold simulate --machine node.json --workload general:seed=1,pods=30 "
                         "--compare-config config.yaml new.yaml",
                         "Compare two configurations with generated pods"},
                        {"pinfold simulate --state-dir /var/lib/pinfold --config new.yaml",
                         "Print which pods of this node would be rejected and which would move"},
                        {"pinfold simulate --cluster nodes=20,pods=60,delay=10",
                         "Count rejected pods with and without a scheduler that asks Pinfold"},
                        {"pinfold simulate --compare vectors.jsonl.gz",
                         "Compare decisions with those of a kubelet"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
