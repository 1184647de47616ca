#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "command.hpp"

namespace pinfold::harness {
namespace fs = std::filesystem;

Result<std::vector<fs::path>> find_files(const std::vector<std::string>& names) {
  std::vector<fs::path> files;
  for (const std::string& name : names) {
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
  if (files.empty()) return fail(ErrorCode::kNotFound, "there is no scenario file");
  return files;
}

bool is_selected(const Scenario& scenario, const std::vector<std::string>& selectors) {
  return selectors.empty() ||
         std::any_of(selectors.begin(), selectors.end(), [&](const std::string& one) {
           return selects(one, scenario.machine.platform);
         });
}

Result<std::vector<FoundScenario>> find_scenarios(const std::vector<std::string>& names,
                                                  const std::vector<std::string>& selectors) {
  PINFOLD_LET(const auto files, find_files(names));
  std::vector<FoundScenario> found;
  std::vector<Platform> platforms;
  for (const fs::path& file : files) {
    PINFOLD_LET(auto scenarios, load_scenarios(file));
    for (Scenario& scenario : scenarios) {
      const Platform& platform = scenario.machine.platform;
      if (std::find(platforms.begin(), platforms.end(), platform) == platforms.end()) {
        platforms.push_back(platform);
      }
      if (is_selected(scenario, selectors)) found.push_back({file, std::move(scenario)});
    }
  }
  if (found.empty()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("--on {}: no scenario runs there, only on {}",
                            fmt::join(selectors, " --on "), to_string(platforms)));
  }
  return found;
}

Result<Scenario> find_scenario(const std::string& file, const std::vector<std::string>& selectors) {
  PINFOLD_LET(auto found, find_scenarios({file}, selectors));
  return std::move(found.front().scenario);
}

void add_platform_option(CLI::App& command, std::vector<std::string>& selectors) {
  command
      .add_option("--on", selectors,
                  "Only on this kernel, cgroup version or both: debian-6.12, v1, debian-6.1/v2")
      ->type_name("PLATFORM")
      ->allow_extra_args(false);
}

}  // namespace pinfold::harness
