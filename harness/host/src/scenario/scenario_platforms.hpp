#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/harness/machines.hpp"
#include "pinfold/harness/platform.hpp"
#include "scenario/field_reader.hpp"

namespace pinfold::harness {

/// The platforms that a part of a scenario applies to, and the one being read.
struct PlatformScope {
  std::vector<Platform> all;
  Platform current;
};

/// Reads `on`, with `arch` for those that do not name an architecture. Without `on`: `usual`.
/// `only`: replaces all architectures.
[[nodiscard]] std::vector<Platform> read_platforms(FieldReader& fields, Platform usual,
                                                   std::optional<Arch> only);

/// Reads `for`: the platforms out of `all` that an object applies to. Absent: all. A selector that
/// matches none is a complaint.
[[nodiscard]] std::vector<Platform> read_for(FieldReader& fields, const std::vector<Platform>& all);

/// Reads `for`. Returns the narrowed scope; nullopt if the object is not for the current platform.
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

/// Returns a scenario's document for one platform: applies `on` and `overrides`, resolves the
/// machine, and replaces $(cpuset) in the steps.
[[nodiscard]] nlohmann::json document_for(const Platform& platform, nlohmann::json document,
                                          const std::vector<Override>& overrides,
                                          const Machines& machines,
                                          std::optional<Complaint>& complaint);

/// Maps a path in a document from document_for to the corresponding path in the file.
[[nodiscard]] FieldPath place_in_file(FieldPath place, const Platform& platform,
                                      const nlohmann::json& document,
                                      const std::vector<Override>& overrides);

}  // namespace pinfold::harness
