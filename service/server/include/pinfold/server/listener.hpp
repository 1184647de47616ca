#pragma once

#include <sys/types.h>

#include <string>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/socket/unix_socket.hpp"

namespace pinfold::service {

/// A Unix socket that connections arrive at. The destructor removes it from the file system.
class Listener {
 public:
  /// Makes the socket with mode 0660 and, if there is one, the group of that name. One that a
  /// service which has ended left there is replaced. Errors: kBusy if a process listens there;
  /// kInvalidArgument for what is no socket; kNotFound without its directory; kIo.
  [[nodiscard]] static Result<Listener> open(const std::string& path,
                                             const std::string& group = kSocketGroup);
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  /// Whose members may use the socket.
  [[nodiscard]] gid_t group() const { return group_; }

 private:
  Listener(UniqueFd socket, std::string path)
      : socket_(std::move(socket)), path_(std::move(path)) {}

  UniqueFd socket_;
  std::string path_;
  gid_t group_ = 0;
  ino_t inode_ = 0;  ///< to remove no other one
};

}  // namespace pinfold::service
