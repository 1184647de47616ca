#include "pinfold/simulate/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "command.hpp"

namespace pinfold::tools {
namespace {

using nlohmann::json;

struct Options {
  std::vector<std::string> files;
  bool compare = false;
  int bench = 0;
  std::string profile = "kubelet-1.36";
  std::string only;
  int show = 20;
};

struct Tally {
  int exact = 0;
  int all = 0;
};

// Vectors that are filtered out are not counted.
bool is_chosen(const Options& options, const json& vector) {
  return options.only.empty() || vector.value("name", "").find(options.only) != std::string::npos;
}

Result<void> print_outcomes(Profile profile, const json& vector) {
  PINFOLD_LET(auto result, simulate::play(vector, profile));
  fmt::print("{}\n", result.dump());
  return {};
}

Result<void> print_times(const Options& options, Profile profile, const json& vector) {
  auto times = simulate::time_admissions(vector, profile, options.bench);
  if (!times) return fail(std::move(times).error());
  json line = {{"name", vector.value("name", "")}, {"admissions", times->size()}};
  if (!times->empty()) {
    std::sort(times->begin(), times->end());
    line["p50_ns"] = (*times)[times->size() / 2];
    line["p99_ns"] = (*times)[(times->size() - 1) * 99 / 100];
  }
  fmt::print("{}\n", line.dump());
  return {};
}

std::string shorten(const std::string& text) {
  constexpr std::size_t kMost = 400;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

class Comparer {
 public:
  explicit Comparer(const Options& options) : options_(options) {}

  Result<void> add(Profile profile, const json& vector) {
    PINFOLD_LET(auto result, simulate::play(vector, profile));
    Tally& tally = groups_[vector.value("group", "(no group)")];
    ++tally.all;
    const auto differences = simulate::compare(vector, result);
    if (differences.empty()) {
      ++tally.exact;
      return {};
    }
    if (++printed_ > options_.show) return {};
    fmt::print("{}: {} difference{}\n", vector.value("name", "?"), differences.size(),
               differences.size() == 1 ? "" : "s");
    const auto& first = differences.front();
    fmt::print("  {}\n    expected {}\n    actual   {}\n", first.where, shorten(first.expected),
               shorten(first.actual));
    return {};
  }

  [[nodiscard]] int finish() const {
    Tally sum;
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
  const Options& options_;
  std::map<std::string, Tally> groups_;
  int printed_ = 0;
};

int run(const Options& options) {
  const auto profile = parse_profile(options.profile);
  if (!profile) return report(Error(profile.error()).wrap("--profile"));
  Comparer comparer(options);
  for (const std::string& file : options.files) {
    const auto done = simulate::for_each_vector(file, [&](const json& vector) -> Result<void> {
      if (!is_chosen(options, vector)) return {};
      if (options.bench > 0) return print_times(options, *profile, vector);
      if (options.compare) return comparer.add(*profile, vector);
      return print_outcomes(*profile, vector);
    });
    if (!done) return report(done.error());
  }
  return options.compare ? comparer.finish() : static_cast<int>(kYes);
}

}  // namespace

void add_simulate(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* const command = app.add_subcommand(
      "simulate", "Play recorded node histories and print, or check, what would have come out");
  command
      ->add_option(
          "FILE", options->files,
          "conformance vectors, one JSON object a line, plain or gzip; - for standard input")
      ->required();
  command->add_flag(
      "--compare", options->compare,
      "compare with the expectations in the input, print the differences and a table; "
      "exit status 1 if there is a difference");
  command
      ->add_option("--bench", options->bench,
                   "play each vector N times; print nanoseconds per admission (p50, p99) as JSON")
      ->check(CLI::PositiveNumber)
      ->excludes("--compare");
  command->add_option("--profile", options->profile, "kubelet-1.36 or fixed")
      ->capture_default_str();
  command->add_option("--only", options->only, "only vectors whose name contains this text");
  command->add_option("--show", options->show, "how many vectors with differences to print")
      ->capture_default_str();
  command->callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace pinfold::tools
