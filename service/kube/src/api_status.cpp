#include "pinfold/kube/api_status.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "pinfold/text/field.hpp"

namespace pinfold::kube {
namespace {

using nlohmann::json;

std::string remedy_of(int status, std::string_view verbs) {
  if (status == kUnauthorized) return "; expected a valid token or client certificate";
  if (status == kForbidden) return fmt::format("; expected a role that allows {}", verbs);
  if (status == kNotFound) return "; expected its CustomResourceDefinition in the cluster";
  return "";
}

}  // namespace

std::string status_text(std::string_view body) {
  const json document = json::parse(body, nullptr, false);
  const json* const message = document.is_object() ? member(document, "message") : nullptr;
  return message != nullptr && message->is_string() ? printable(message->get<std::string>())
                                                    : printable(body);
}

std::string describe_status(int status, std::string_view body, std::string_view verbs) {
  return fmt::format("status {}: {}{}", status, status_text(body), remedy_of(status, verbs));
}

}  // namespace pinfold::kube
