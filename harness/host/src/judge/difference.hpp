#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "pinfold/harness/judge.hpp"

/// Shows what matters when a step fails: how a program ended, and where long texts differ.
namespace pinfold::harness {

/// Returns "status 1", "signal 9" or "the time limit, which --time-scale extends" for an
/// exec reply.
[[nodiscard]] std::string describe_end(const nlohmann::json& reply);
/// Returns the end of a program's output.
[[nodiscard]] std::string excerpt(std::string text);

/// Returns "lacks 3, also has 5" for lists of CPUs or NUMA nodes that differ; "" for other values.
[[nodiscard]] std::string list_difference(const CheckedValue& check);

/// Returns the line of a text with the longest part in common with `wanted`, at least half of it;
/// "" if there is none. Domain: lines are compared up to their first 200 characters.
[[nodiscard]] std::string nearest_line(std::string_view text, std::string_view wanted);

/// Explains why a program did not print `wanted`: the nearest line if there is one, else the end of
/// its output.
[[nodiscard]] std::string missing_text(const std::string& wanted, const std::string& output);

/// Returns the reasons and messages in the product's JSON output of an exec reply, after ": ":
/// "TopologyAffinityError: Resources cannot be allocated". Without any, returns the end of stderr,
/// and of stdout unless it is JSON; "" if that is empty.
[[nodiscard]] std::string reasons_in(const nlohmann::json& reply);

}  // namespace pinfold::harness
