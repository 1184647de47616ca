#pragma once

#include <string>

#include "pinfold/base/result.hpp"

namespace pinfold::tools {

/// Returns the program that the systemd unit kubelet.service starts, with its drop-ins, as systemd
/// would read them below `root` ("/" for this machine). Runs nothing and does not ask systemd.
/// Errors: kNotFound without such a unit; kInvalidArgument if it does not start an absolute path;
/// kIo.
[[nodiscard]] Result<std::string> program_of_kubelet_unit(const std::string& root);

}  // namespace pinfold::tools
