#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "field_reader.hpp"
#include "pinfold/harness/platform.hpp"
#include "pinfold/harness/scenario.hpp"

namespace pinfold::harness {

/// The platforms that a part of a scenario is for, and the one for which it is read now.
struct PlatformScope {
  std::vector<Platform> all;
  Platform current;
};

/// Reads `on`. Absent: one platform, the default.
[[nodiscard]] std::vector<Platform> read_platforms(FieldReader& fields);

/// Reads `for`: which platforms of `all` an object is for. Absent: all of them. A selector that
/// selects none is a complaint.
[[nodiscard]] std::vector<Platform> read_for(FieldReader& fields, const std::vector<Platform>& all);

/// Reads `for`. Nothing: the object is not for the current platform. Else: its own scope.
[[nodiscard]] std::optional<PlatformScope> narrow(FieldReader& fields, const PlatformScope& scope);

/// One entry of `overrides`: a merge patch of the scenario's fields, for some platforms.
struct Override {
  std::vector<Platform> platforms;
  nlohmann::json patch;
};

/// Reads `overrides`.
[[nodiscard]] std::vector<Override> read_overrides(FieldReader& fields,
                                                   const std::vector<Platform>& all,
                                                   std::optional<Complaint>& complaint);

/// A scenario's document for one platform: `on` and `overrides` are carried out, the machine is
/// spelled out, and $(cpuset) in the steps is replaced.
[[nodiscard]] nlohmann::json document_for(const Platform& platform, nlohmann::json document,
                                          const std::vector<Override>& overrides,
                                          const Machines& machines,
                                          std::optional<Complaint>& complaint);

/// A place in a document that document_for has made, as a place in the file.
[[nodiscard]] FieldPath place_in_file(FieldPath place, const Platform& platform,
                                      const nlohmann::json& document,
                                      const std::vector<Override>& overrides);

}  // namespace pinfold::harness
