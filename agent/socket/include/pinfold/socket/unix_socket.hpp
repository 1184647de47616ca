#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <string>

#include "pinfold/base/result.hpp"

/// Unix sockets of the service.
namespace pinfold::socket {

inline constexpr const char* kDefaultSocket = "/run/pinfold/agent.sock";
/// Members of this group may use the socket.
inline constexpr const char* kSocketGroup = "pinfold";

/// Makes an address. Errors: kInvalidArgument for a path that is empty or longer than Linux allows.
[[nodiscard]] Result<sockaddr_un> socket_address(const std::string& path);
/// Returns the address in the type that system calls take.
[[nodiscard]] const sockaddr* generic(const sockaddr_un& address);

/// Checks that the process at the other end of a connection may use the service: that it is root's,
/// this process' user's, or a group member's. Errors: kInvalidArgument, kIo.
[[nodiscard]] Result<void> check_client(int connection, gid_t group);
/// Returns whether the process at the other end is root's or this process' user's.
[[nodiscard]] bool is_owner(int connection);
/// Checks that the process at the other end is root's or this process' user's, so that a command
/// does not give its pods to a stranger. Errors: kInvalidArgument, kIo.
[[nodiscard]] Result<void> check_server(int connection);

}  // namespace pinfold::socket
