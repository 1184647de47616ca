#include "annotation.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "pinfold/text/document.hpp"

namespace pinfold::nri {
namespace {

/// The API server's limit for all annotations of an object.
constexpr std::size_t kMaxAnnotation = 256U << 10U;

}  // namespace

Result<nlohmann::json> read_annotation(const api::PodSandbox& sandbox, std::string_view name) {
  const auto found = sandbox.annotations().find(std::string(name));
  if (found == sandbox.annotations().end()) return nlohmann::json();
  if (found->second.size() > kMaxAnnotation) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} bytes: expected at most {}", found->second.size(), kMaxAnnotation));
  }
  PINFOLD_LET(auto value, parse_document(found->second));
  return value;
}

}  // namespace pinfold::nri
