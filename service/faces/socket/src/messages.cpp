#include "messages.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "pinfold/socket/protocol.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::socket {

using nlohmann::json;

std::string to_line(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<json> parse_line(std::string_view line) {
  if (line.size() > kMaxMessage) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("message: longer than {} bytes", kMaxMessage));
  }
  if (!line.starts_with("{\"")) {  // parse_document also reads YAML
    return fail(ErrorCode::kInvalidArgument, "message: expected a JSON object with members");
  }
  PINFOLD_LET_WRAP(auto message, parse_document(line), "message");
  return message;
}

json error_json(const Error& error) {
  return {{"code", to_string(error.code)}, {"errno", error.sys_errno}, {"message", error.message}};
}

namespace {

constexpr std::array kErrorCodes = {
    ErrorCode::kInvalidArgument, ErrorCode::kNotFound, ErrorCode::kCorrupt, ErrorCode::kIo,
    ErrorCode::kUnsupported,     ErrorCode::kInternal, ErrorCode::kBusy};

}  // namespace

Result<Error> read_error(const json& value, const std::string& path) {
  Members members(value, path);
  Error error;
  const std::string code = members.text("code");
  error.sys_errno = static_cast<int>(members.number("errno", std::numeric_limits<int>::max()));
  error.message = members.text("message");
  bool is_known = false;
  for (const ErrorCode known : kErrorCodes) {
    if (to_string(known) != code) continue;
    error.code = known;
    is_known = true;
  }
  if (!is_known) members.fail_at("code", code, "expected the name of an error code");
  PINFOLD_TRY(members.end());
  return error;
}

Result<std::pair<std::string, const json*>> only_member(const json& message) {
  if (!message.is_object() || message.size() != 1) {
    return fail_field("message", message, "expected an object with one member");
  }
  return std::pair(message.begin().key(), &message.begin().value());
}

}  // namespace pinfold::socket
