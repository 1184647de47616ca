#pragma once

#include <string>

#include "pinfold/base/result.hpp"

/// The program of this machine's kubelet, and its version.
namespace pinfold::tools {

/// Returns the program that the systemd unit kubelet.service starts, with its drop-ins, as systemd
/// would read them below `root` ("/" for this machine). Runs nothing and does not ask systemd.
/// Errors: kNotFound without such a unit; kInvalidArgument if it does not start an absolute path;
/// kIo.
[[nodiscard]] Result<std::string> program_of_kubelet_unit(const std::string& root);

/// Returns the output line of `program --version`. The program gets an empty environment and no
/// input, and is killed after ten seconds.
/// Errors: kIo if it cannot be run, fails, takes too long, or does not print a short line.
[[nodiscard]] Result<std::string> kubelet_version(const std::string& program);

}  // namespace pinfold::tools
