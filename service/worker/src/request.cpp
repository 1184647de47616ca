#include "pinfold/worker/request.hpp"

#include <cerrno>

namespace pinfold::worker {

Error stopping_error() { return {ErrorCode::kBusy, ESHUTDOWN, "the service stops"}; }

bool is_stopping(const Error& error) {
  return error.code == ErrorCode::kBusy && error.sys_errno == ESHUTDOWN;
}

}  // namespace pinfold::worker
