#include "pinfold/base/result.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace pinfold {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kIo:
      return "input/output error";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kInternal:
      return "internal error";
    case ErrorCode::kBusy:
      return "busy";
  }
  return "unknown error";
}

Error Error::wrap(std::string_view context) && {
  const bool is_known = message.starts_with(context) && message.size() > context.size() &&
                        (message[context.size()] == ':' || message[context.size()] == ' ');
  if (!is_known) message = fmt::format("{}: {}", context, message);
  return std::move(*this);
}

tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, 0, std::move(message)});
}

tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

tl::unexpected<Error> fail_errno(int sys_errno, std::string message) {
  const auto code = sys_errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return tl::unexpected<Error>(Error{
      code, sys_errno, fmt::format("{}: {}", message, std::generic_category().message(sys_errno))});
}

}  // namespace pinfold
