#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/machines.hpp"
#include "pinfold/harness/scenario.hpp"

namespace pinfold::harness {

/// Parses a scenario: one result for each platform that it runs on, in the order of `on`. Does not
/// open the files that it names. `arch`: replaces the architectures of its platforms.
/// Errors: kInvalidArgument, "line 7: steps[2].write.value: 3: expected a string".
[[nodiscard]] Result<std::vector<Scenario>> parse_scenarios(std::string_view yaml_or_json,
                                                            const Machines& machines,
                                                            std::optional<Arch> arch = {});
/// Reads a scenario file and the files that it names. Looks machines up in the nearest
/// `machines.yaml`, in the file's directory or in a parent. Errors name the file.
[[nodiscard]] Result<std::vector<Scenario>> load_scenarios(const std::filesystem::path& file,
                                                           std::optional<Arch> arch = {});

/// Does the same with this text, YAML or JSON, instead of the file's.
[[nodiscard]] Result<std::vector<Scenario>> load_scenarios_of(std::string_view text,
                                                              const std::filesystem::path& file,
                                                              std::optional<Arch> arch = {});

}  // namespace pinfold::harness
