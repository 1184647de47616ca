#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/api/config.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/decide/decide.hpp"

namespace pinfold::simulate {

/// Plays one conformance vector (docs/simulate.md) and returns
///   {"name":…, "group":…, "start":{…}, "expect":[…]} or, if the first start fails, "startError".
/// `profile` overrides the one in the vector's configuration.
/// Errors: kInvalidArgument for a vector that is malformed; its field is named.
[[nodiscard]] Result<nlohmann::json> play(const nlohmann::json& vector, Profile profile);

/// A pod comes to a node of a vector.
struct Arrival {
  const Node& node;
  const NodeState& state;  ///< before the admission
  const PodSpec& pod;
  const nlohmann::json&
      expected;  ///< what the vector expects of this step; null if it does not say
};
/// Plays a vector and calls visit for each admission, before it happens.
[[nodiscard]] Result<void> for_each_arrival(const nlohmann::json& vector, Profile profile,
                                            const std::function<void(const Arrival&)>& visit);

/// Nanoseconds of each admission (decide alone: no files, no JSON), played `rounds` times.
[[nodiscard]] Result<std::vector<std::uint64_t>> time_admissions(const nlohmann::json& vector,
                                                                 Profile profile, int rounds);

/// One difference between what a vector expects and what came out.
struct Difference {
  std::string where;  ///< "expect[3].containers.c1.cpus"
  std::string expected;
  std::string actual;
};

/// Compares the result of play() with the expectations in the vector. `hints` and `checkpoints` are
/// compared where the vector has them; a hint list that is null equals an absent one.
[[nodiscard]] std::vector<Difference> compare(const nlohmann::json& vector,
                                              const nlohmann::json& result);

/// Calls visit(line number, vector) for each line of a file of JSON lines, plain or gzip, "-" for
/// standard input; visit returns false to stop. Empty lines are skipped.
/// Errors: kInvalidArgument "FILE:LINE: ..." for text that is no JSON; kIo, kNotFound.
[[nodiscard]] Result<void> for_each_vector(
    const std::string& path, const std::function<Result<void>(const nlohmann::json&)>& visit);

}  // namespace pinfold::simulate
