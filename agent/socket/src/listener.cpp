#include "pinfold/socket/listener.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

namespace pinfold::socket {
namespace {

constexpr int kBacklog = 4096;

std::optional<gid_t> find_group(const std::string& name) {
  group entry{};
  group* found = nullptr;
  std::array<char, 16384> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const int failed = ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (failed != 0 || found == nullptr) return std::nullopt;
  return found->gr_gid;
}

/// Errors if the existing file of this name must not be replaced.
Result<void> check_replaceable(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno(errno, "cannot examine it");
  }
  if (!S_ISSOCK(status.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, "a file of this name exists and is not a socket");
  }
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return fail_errno(errno, "socket");
  if (::connect(probe.get(), generic(address), sizeof address) != 0 && errno == ECONNREFUSED) {
    return {};  // left by a killed service
  }
  return fail(ErrorCode::kBusy, "another process listens there");
}

Result<UniqueFd> bind_to(const sockaddr_un& address) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno(errno, "socket");
  constexpr mode_t kNobody = 0777;  // until its group is known
  const mode_t before = ::umask(kNobody);
  const int failed = ::bind(socket.get(), generic(address), sizeof address) == 0 ? 0 : errno;
  ::umask(before);
  if (failed == ENOENT) return fail_errno(failed, "create it: its directory must exist");
  if (failed != 0) return fail_errno(failed, "create it");
  return socket;
}

}  // namespace

/// Uses another name until the socket listens, so that a client that finds it can connect.
Result<Listener> Listener::open(const std::string& path, const std::string& group) {
  const std::string name = fmt::format("socket '{}'", path);
  const std::string unfinished = path + ".new";
  PINFOLD_LET(const sockaddr_un address, socket_address(path));
  PINFOLD_LET(const sockaddr_un first_address, socket_address(unfinished));
  PINFOLD_TRY_WRAP(check_replaceable(path, address), name);
  if (::unlink(unfinished.c_str()) != 0 && errno != ENOENT) return fail_errno(errno, name);
  PINFOLD_LET_WRAP(auto socket, bind_to(first_address), name);
  Listener listener(std::move(socket), unfinished);
  struct stat status {};
  if (::lstat(unfinished.c_str(), &status) != 0) return fail_errno(errno, name);
  listener.inode_ = status.st_ino;
  listener.group_ = find_group(group).value_or(::getegid());
  constexpr mode_t kMode = 0660;
  if (::lchown(unfinished.c_str(), static_cast<uid_t>(-1), listener.group_) != 0 ||
      ::chmod(unfinished.c_str(), kMode) != 0) {
    return fail_errno(errno, name + ": group and mode");
  }
  if (::listen(listener.fd(), kBacklog) != 0) return fail_errno(errno, name + ": listen");
  if (::rename(unfinished.c_str(), path.c_str()) != 0) return fail_errno(errno, name);
  listener.path_ = path;
  return listener;
}

Listener::~Listener() {
  struct stat status {};
  if (!socket_ || ::lstat(path_.c_str(), &status) != 0 || status.st_ino != inode_) return;
  (void)::unlink(path_.c_str());
}

}  // namespace pinfold::socket
