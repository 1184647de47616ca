#include "pinfold/worker/request.hpp"

#include <cerrno>

namespace pinfold::worker {

Error stopping_error() { return {ErrorCode::kBusy, ESHUTDOWN, "the service is stopping"}; }

bool is_stopping(const Error& error) {
  return error.code == ErrorCode::kBusy && error.sys_errno == ESHUTDOWN;
}

}  // namespace pinfold::worker
