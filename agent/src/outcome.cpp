#include "pinfold/agent/outcome.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "pinfold/checkpoint/store.hpp"

namespace pinfold::agent {

Error unknown_outcome(const std::string& message) {
  return {ErrorCode::kIo, ENOTRECOVERABLE, message + "; the change may have been made"};
}

bool is_unknown_outcome(const Error& error) {
  return error.code == ErrorCode::kIo && error.sys_errno == ENOTRECOVERABLE;
}

Error stopping_error() { return {ErrorCode::kBusy, ESHUTDOWN, "the service is stopping"}; }

bool is_stopping(const Error& error) {
  return error.code == ErrorCode::kBusy && error.sys_errno == ESHUTDOWN;
}

std::string describe_not_settled(const Error& error) {
  if (is_unknown_outcome(error)) return error.message;
  return fmt::format("{}: {}", checkpoint::kNotSettled, error.message);
}

}  // namespace pinfold::agent
