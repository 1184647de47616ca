#pragma once

#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"

/// Connections with other programs of this machine. Each operation ends after a short time, because
/// a container's start may wait for it.
namespace pinfold::quiet {

/// Connects to a socket. Errors: kNotFound if nothing listens at `path`; kIo.
[[nodiscard]] Result<UniqueFd> connect_to(const std::string& path);
/// Sends all bytes. Errors: kUnsupported with EAGAIN if the program reads nothing; kIo.
[[nodiscard]] Result<void> send_all(int connection, std::string_view bytes);
/// Returns what has arrived, at most `most` bytes; "" at the end of the stream.
/// Errors: kUnsupported with EAGAIN if nothing arrives; kIo.
[[nodiscard]] Result<std::string> receive(int connection, std::size_t most);

}  // namespace pinfold::quiet
