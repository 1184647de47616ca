#include "pinfold/api/assigned_variables.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pinfold/text/field.hpp"

namespace pinfold {
namespace {

/// As the API server accepts it: printable ASCII without '='.
bool is_variable_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

}  // namespace

Result<std::optional<AssignedVariables>> read_assigned_variables(std::string_view path,
                                                                 const nlohmann::json& value) {
  if (value.is_null() || value == false) return std::nullopt;
  AssignedVariables variables;
  if (value == true) return variables;
  if (!value.is_object()) {
    return fail_field(path, value,
                      "expected true, false, or variables such as {WORKER_CPUS: assigned.cpuset}");
  }
  for (const auto& [name, source] : value.items()) {
    const std::string here = join(path, printable(name));
    if (!is_variable_name(name)) {
      return fail_field(here, name, "expected the name of an environment variable");
    }
    if (source != kAssignedCpuset && source != kAssignedMemset) {
      return fail_field(here, source, "expected assigned.cpuset or assigned.memset");
    }
    variables.emplace(name, source.get<std::string>());
  }
  return variables;
}

}  // namespace pinfold
