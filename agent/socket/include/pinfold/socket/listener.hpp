#pragma once

#include <sys/types.h>

#include <string>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/socket/unix_socket.hpp"

namespace pinfold::socket {

/// A listening Unix socket. The destructor removes it from the file system.
class Listener {
 public:
  /// Makes the socket with mode 0660 and, if it exists, the group of that name. Replaces a socket
  /// left by a service that has ended. Errors: kBusy if a process listens there; kInvalidArgument
  /// if the path is not a socket; kNotFound if its directory does not exist; kIo.
  [[nodiscard]] static Result<Listener> open(const std::string& path,
                                             const std::string& group = kSocketGroup);
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  /// Returns the group whose members may use the socket.
  [[nodiscard]] gid_t group() const { return group_; }

 private:
  Listener(UniqueFd socket, std::string path)
      : socket_(std::move(socket)), path_(std::move(path)) {}

  UniqueFd socket_;
  std::string path_;
  gid_t group_ = 0;
  ino_t inode_ = 0;  ///< so that only this socket is removed
};

}  // namespace pinfold::socket
