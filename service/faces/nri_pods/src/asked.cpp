#include "pinfold/nri_pods/asked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "annotation.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::nri {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 2> kValues = {"assigned.cpuset", "assigned.memset"};

/// As the API server accepts it: printable ASCII without '='.
bool is_variable_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

Result<AskedVariables> read_variables(std::string_view path, const json& value) {
  if (!value.is_object()) {
    return fail_field(path, value, "expected a mapping of variables, {NAME: assigned.cpuset}");
  }
  AskedVariables variables;
  for (const auto& [name, source] : value.items()) {
    if (!is_variable_name(name)) {
      return fail_field(path, name, "expected the name of an environment variable");
    }
    if (std::find(kValues.begin(), kValues.end(), source) == kValues.end()) {
      return fail_field(join(path, printable(name)), source,
                        "expected 'assigned.cpuset' or 'assigned.memset'");
    }
    variables.emplace(name, source.get<std::string>());
  }
  return variables;
}

Result<std::optional<AskedVariables>> read_asked(const api::PodSandbox& sandbox,
                                                 const std::string& container) {
  PINFOLD_LET(const auto value, read_annotation(sandbox, kAssignedAnnotation));
  if (value.is_null() || value == false) return std::nullopt;
  if (value == true) return AskedVariables();
  if (!value.is_object()) {
    return fail_field("value", value,
                      "expected 'true', 'false', or a mapping of containers to variables");
  }
  std::optional<AskedVariables> asked;
  for (const auto& [name, variables] : value.items()) {
    PINFOLD_LET(auto read, read_variables(printable(name), variables));
    if (name == container) asked = std::move(read);
  }
  return asked;
}

}  // namespace

Result<std::optional<AskedVariables>> asked_variables(const api::PodSandbox& sandbox,
                                                      const std::string& container) {
  PINFOLD_LET_WRAP(auto asked, read_asked(sandbox, container),
                   fmt::format("annotation {}", kAssignedAnnotation));
  return asked;
}

}  // namespace pinfold::nri
