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

/// Replays one conformance vector (docs/simulate.md) and returns
///   {"name":…, "group":…, "start":{…}, "expect":[…]} or, if the first start fails, "startError".
/// `profile` overrides the profile in the configuration of the vector.
/// Errors: kInvalidArgument with the field for a malformed vector.
[[nodiscard]] Result<nlohmann::json> play(const nlohmann::json& vector, Profile profile);

/// A pod that is about to be admitted.
struct Arrival {
  const Node& node;
  const NodeState& state;  ///< before the admission
  const PodSpec& pod;
  const nlohmann::json& expected;  ///< expected result of this step; null if the vector has none
};
/// Replays a vector and calls visit before each admission.
[[nodiscard]] Result<void> for_each_arrival(const nlohmann::json& vector, Profile profile,
                                            const std::function<void(const Arrival&)>& visit);

/// Measures each admission (only decide, without files and JSON) in `rounds` replays. Returns
/// nanoseconds.
[[nodiscard]] Result<std::vector<std::uint64_t>> time_admissions(const nlohmann::json& vector,
                                                                 Profile profile, int rounds);

/// One difference between the expected and the actual results.
struct Mismatch {
  std::string where;  ///< "expect[3].containers.c1.cpus"
  std::string expected;
  std::string actual;
};

/// Compares the result of play() with the expected results in the vector. `hints` and `checkpoints`
/// are compared only where the vector has them, `linux` and `pod` if it has any. A null hint list
/// equals an absent one.
[[nodiscard]] std::vector<Mismatch> compare(const nlohmann::json& vector,
                                            const nlohmann::json& result);

/// Calls visit for each line of a file of JSON lines, plain or gzip; "-" is standard input. Skips
/// empty lines. Reports a line that is not a JSON object, or whose visit fails, as "FILE:LINE:
/// ...", and continues with the next line.
/// Errors: kIo, kCorrupt if the file cannot be read.
[[nodiscard]] Result<void> for_each_vector(
    const std::string& path, const std::function<Result<void>(const nlohmann::json&)>& visit,
    const std::function<void(const Error&)>& report);

}  // namespace pinfold::simulate
