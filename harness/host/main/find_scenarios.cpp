#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "command.hpp"
#include "parts.hpp"
#include "pinfold/harness/read_scenarios.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

/// Replaces the kernel of a file's scenarios: one remains for each cgroup version and architecture.
std::vector<Scenario> on_kernel(std::vector<Scenario> scenarios, const std::string& kernel) {
  std::vector<Scenario> left;
  for (Scenario& scenario : scenarios) {
    Platform& platform = scenario.machine.platform;
    platform.kernel = kOwnKernel;
    scenario.kernel = kernel;
    if (std::none_of(left.begin(), left.end(), [&](const Scenario& earlier) {
          return earlier.machine.platform == platform;
        })) {
      left.push_back(std::move(scenario));
    }
  }
  return left;
}

/// Returns the folders with scenarios of the product, of misbehaving guests, and of other programs.
Result<std::vector<std::string>> shipped_scenarios() {
  PINFOLD_LET(const auto parts, find_parts());
  std::error_code failed;
  const fs::path share = fs::canonical(parts.share, failed);
  if (failed) return fail_errno(failed.value(), fmt::format("read '{}'", parts.share.string()));
  return std::vector<std::string>{share / "tests/vm/scenarios", share / "tests/vm/selftest",
                                  share / "examples/harness"};
}

}  // namespace

Result<std::vector<fs::path>> find_files(const Selection& selection) {
  PINFOLD_LET(const auto shipped, shipped_scenarios());
  std::vector<fs::path> files;
  for (const std::string& name : selection.files.empty() ? shipped : selection.files) {
    std::error_code failed;
    if (!fs::is_directory(name, failed)) {
      files.emplace_back(name);
      continue;
    }
    std::vector<fs::path> found;
    for (fs::recursive_directory_iterator it(name, failed), end; !failed && it != end;
         it.increment(failed)) {
      const fs::path& file = it->path();
      if (file.extension() == ".yaml" && file.filename() != "machines.yaml") found.push_back(file);
    }
    if (failed) return fail_errno(failed.value(), fmt::format("read '{}'", name));
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  if (files.empty()) return fail(ErrorCode::kNotFound, "no scenario file found");
  return files;
}

bool is_selected(const Platform& platform, const Selection& selection) {
  const auto& platforms = selection.platforms;
  return platforms.empty() ||
         std::any_of(platforms.begin(), platforms.end(),
                     [&](const std::string& selector) { return selects(selector, platform); });
}

Result<void> check_platforms(const Selection& selection) {
  for (const std::string& selector : selection.platforms) {
    if (auto checked = check_selector(selector); !checked) {
      return fail(std::move(checked).error().wrap("--on " + selector));
    }
  }
  return {};
}

Result<std::vector<FoundScenario>> find_scenarios(const Selection& selection) {
  PINFOLD_TRY(check_platforms(selection));
  PINFOLD_LET(const auto files, find_files(selection));
  std::vector<FoundScenario> found;
  std::vector<Platform> platforms;
  for (const fs::path& file : files) {
    PINFOLD_LET(auto scenarios, load_scenarios(file, selection.arch));
    if (!selection.kernel.empty()) scenarios = on_kernel(std::move(scenarios), selection.kernel);
    for (Scenario& scenario : scenarios) {
      const Platform& platform = scenario.machine.platform;
      if (std::find(platforms.begin(), platforms.end(), platform) == platforms.end()) {
        platforms.push_back(platform);
      }
      if (is_selected(platform, selection)) found.push_back({file, std::move(scenario)});
    }
  }
  if (found.empty()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("--on {}: no scenario runs there, only on {}",
                            fmt::join(selection.platforms, " --on "), to_string(platforms)));
  }
  return found;
}

Result<Scenario> find_scenario(const Selection& selection) {
  PINFOLD_LET(auto found, find_scenarios(selection));
  return std::move(found.front().scenario);
}

}  // namespace pinfold::harness
