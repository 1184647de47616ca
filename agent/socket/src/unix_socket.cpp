#include "pinfold/socket/unix_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace pinfold::socket {
namespace {

Result<ucred> peer_of(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return fail_errno(errno, "getsockopt SO_PEERCRED");
  }
  return peer;
}

/// The supplementary groups that the process had when it connected.
Result<std::vector<gid_t>> groups_of(int connection) {
  constexpr socklen_t kMost = 65536;  // NGROUPS_MAX
  std::vector<gid_t> groups(kMost);
  socklen_t size = kMost * sizeof(gid_t);
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) {
    return fail_errno(errno, "getsockopt SO_PEERGROUPS");
  }
  groups.resize(size / sizeof(gid_t));
  return groups;
}

}  // namespace

Result<sockaddr_un> socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("socket '{}': expected a path of 1 to {} bytes", path,
                            sizeof address.sun_path - 1));
  }
  std::copy(path.begin(), path.end(), std::begin(address.sun_path));
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as the system calls want it
  return reinterpret_cast<const sockaddr*>(&address);
}

bool is_owner(int connection) {
  const auto peer = peer_of(connection);
  return peer && (peer->uid == 0 || peer->uid == ::geteuid());
}

Result<void> check_client(int connection, gid_t group) {
  PINFOLD_LET(const ucred peer, peer_of(connection));
  if (peer.uid == 0 || peer.uid == ::geteuid() || peer.gid == group) return {};
  PINFOLD_LET(const auto groups, groups_of(connection));
  if (std::find(groups.begin(), groups.end(), group) != groups.end()) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("user {} may not use this service: expected root, its own user, or a "
                          "member of group {}",
                          peer.uid, group));
}

Result<void> check_server(int connection) {
  PINFOLD_LET(const ucred peer, peer_of(connection));
  if (peer.uid == 0 || peer.uid == ::geteuid()) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the service runs as user {}: expected root or this user", peer.uid));
}

}  // namespace pinfold::socket
