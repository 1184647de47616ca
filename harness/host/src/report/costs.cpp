#include "pinfold/harness/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pinfold/harness/json.hpp"

namespace pinfold::harness {
namespace {

constexpr std::size_t kMostLongest = 10;

struct Cost {
  std::string what;
  std::string scenario;
  Milliseconds elapsed;
};

struct CostSum {
  int count = 0;
  Milliseconds elapsed{0};

  void add(Milliseconds one) {
    ++count;
    elapsed += one;
  }
  [[nodiscard]] Json json() const { return {{"count", count}, {"elapsedMs", elapsed.count()}}; }
};

std::string seconds_of(const Json& json) {
  return format_seconds(Milliseconds(json.at("elapsedMs").get<std::int64_t>()));
}

}  // namespace

std::string format_seconds(Milliseconds elapsed) {
  return fmt::format("{:.1f} s", static_cast<double>(elapsed.count()) / 1000);
}

Json costs_json(const std::vector<ScenarioResult>& results) {
  std::vector<Cost> costs;
  CostSum boots;
  CostSum restores;
  CostSum resets;
  CostSum steps;
  Milliseconds other{0};
  for (const ScenarioResult& result : results) {
    const std::string name = full_name(result.name, to_string(result.machine.platform));
    if (result.reset || result.restored || result.boots > 0) {
      CostSum& sum = result.reset ? resets : result.restored ? restores : boots;
      sum.add(result.until_ready);
      costs.push_back({result.reset      ? "reset"
                       : result.restored ? "restore"
                                         : "boot",
                       name, result.until_ready});
    }
    Milliseconds left = result.elapsed - result.until_ready;
    int number = 0;
    for (const StepResult& step : result.steps) {
      if (step.test) continue;  // a test of a program: the time is counted for its step
      steps.add(step.elapsed);
      left -= step.elapsed;
      costs.push_back({fmt::format("step {} ({})", ++number, step.title), name, step.elapsed});
    }
    other += std::max(left, Milliseconds(0));
  }
  std::stable_sort(costs.begin(), costs.end(),
                   [](const Cost& a, const Cost& b) { return a.elapsed > b.elapsed; });
  costs.resize(std::min(costs.size(), kMostLongest));
  Json longest = Json::array();
  for (const auto& [what, scenario, elapsed] : costs) {
    longest.push_back({{"what", what}, {"scenario", scenario}, {"elapsedMs", elapsed.count()}});
  }
  return {{"boots", boots.json()}, {"restores", restores.json()}, {"resets", resets.json()},
          {"steps", steps.json()}, {"otherMs", other.count()},    {"longest", std::move(longest)}};
}

std::string costs_text(const Json& costs, std::size_t most) {
  const auto part = [&](const char* name) {
    const Json& sum = costs.at(name);
    return fmt::format("{} {} ({})", name, seconds_of(sum), sum.at("count").get<int>());
  };
  std::string text =
      fmt::format("machine time: {}, {}, {}, {}, the rest {}\n", part("boots"), part("restores"),
                  part("resets"), part("steps"),
                  format_seconds(Milliseconds(costs.at("otherMs").get<std::int64_t>())));
  for (const Json& cost : costs.at("longest")) {
    if (most-- == 0) break;
    text += fmt::format("{:>10}  {}, {}\n", seconds_of(cost),
                        cost.at("scenario").get<std::string>(), cost.at("what").get<std::string>());
  }
  return text;
}

}  // namespace pinfold::harness
