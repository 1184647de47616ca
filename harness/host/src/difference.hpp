#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "pinfold/harness/judge.hpp"

/// What a reader of a failed step needs to see of two long texts.
namespace pinfold::harness {

/// "lacks 3, also has 5" for lists of CPUs or NUMA nodes that differ; "" for other values.
[[nodiscard]] std::string list_difference(const Check& check);

/// The line of a text that shares most with `wanted`, at least half of it; "" if none does.
/// Domain: lines are compared up to their first 200 characters.
[[nodiscard]] std::string nearest_line(std::string_view text, std::string_view wanted);

/// Why a program did not print `wanted`: the nearest line if there is one, else the end of its
/// output.
[[nodiscard]] std::string missing_text(const std::string& wanted, const std::string& output);

/// What the product says in an exec reply, behind ": ": the reasons and messages of its JSON,
/// "TopologyAffinityError: Resources cannot be allocated", without the rest of the answer. "" if
/// there are none. The end of any other output.
[[nodiscard]] std::string reasons_in(const nlohmann::json& reply);

}  // namespace pinfold::harness
