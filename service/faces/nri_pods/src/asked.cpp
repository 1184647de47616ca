#include "pinfold/nri_pods/asked.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "annotation.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::nri {
namespace {

Result<std::optional<AssignedVariables>> read_asked(const api::PodSandbox& sandbox,
                                                    const std::string& container) {
  PINFOLD_LET(const auto value, read_annotation(sandbox, kAssignedAnnotation));
  if (value.is_null() || value.is_boolean()) return read_assigned_variables("", value);
  if (!value.is_object()) {
    return fail_field("value", value,
                      "expected 'true', 'false', or a mapping of containers to variables");
  }
  std::optional<AssignedVariables> asked;
  for (const auto& [name, variables] : value.items()) {
    PINFOLD_LET(auto read, read_assigned_variables(printable(name), variables));
    if (name == container) asked = std::move(read);
  }
  return asked;
}

}  // namespace

Result<std::optional<AssignedVariables>> asked_variables(const api::PodSandbox& sandbox,
                                                         const std::string& container) {
  PINFOLD_LET_WRAP(auto asked, read_asked(sandbox, container),
                   fmt::format("annotation {}", kAssignedAnnotation));
  return asked;
}

}  // namespace pinfold::nri
