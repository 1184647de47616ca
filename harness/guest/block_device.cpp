#include "block_device.hpp"

#include <endian.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/nbd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "agent.hpp"

namespace pinfold::guest {
namespace {

bool read_all(int socket, void* into, std::size_t size) {
  auto* at = static_cast<char*>(into);
  while (size > 0) {
    const ssize_t got = recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Starts a detached thread with all signals blocked: the main thread handles SIGCHLD.
template <class Body>
void start_thread(Body body) {
  sigset_t all;
  sigset_t before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(std::move(body)).detach();
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

BlockDevice::BlockDevice(int number)
    : number_(number), path_("/dev/nbd" + std::to_string(number)) {}

std::string BlockDevice::attach(std::uint64_t bytes, std::size_t sector) {
  device_ = UniqueFd(open(path_.c_str(), O_RDWR | O_CLOEXEC));
  if (!device_) return describe_errno(path_, errno);
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return describe_errno("socketpair", errno);
  }
  kernel_socket_ = UniqueFd(ends[0]);
  our_socket_ = UniqueFd(ends[1]);
  constexpr unsigned long kFlags = NBD_FLAG_HAS_FLAGS | NBD_FLAG_SEND_FLUSH | NBD_FLAG_SEND_FUA;
  if (ioctl(device_.get(), NBD_SET_BLKSIZE, sector) != 0 ||
      ioctl(device_.get(), NBD_SET_SIZE_BLOCKS, bytes / sector) != 0 ||
      ioctl(device_.get(), NBD_SET_FLAGS, kFlags) != 0 ||
      ioctl(device_.get(), NBD_SET_SOCK, kernel_socket_.get()) != 0) {
    return describe_errno(path_, errno);
  }
  start_thread([this] { serve(); });
  start_thread(
      [this] { (void)ioctl(device_.get(), NBD_DO_IT, 0); });  // returns when the device is removed
  const std::string pid = "/sys/block/nbd" + std::to_string(number_) + "/pid";
  for (int i = 0; i < 5000 && access(pid.c_str(), F_OK) != 0; ++i) (void)usleep(1000);
  return access(pid.c_str(), F_OK) == 0 ? "" : describe_errno(pid, errno);
}

void BlockDevice::serve() {
  // When this thread reclaims memory, it must not write to the disk that it serves.
  (void)prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
  while (answer(our_socket_.get())) {
  }
}

bool BlockDevice::answer(int socket) {
  nbd_request request{};
  if (!read_all(socket, &request, sizeof request)) return false;
  const std::uint32_t type = be32toh(request.type);
  const std::uint64_t offset = be64toh(request.from);
  const std::size_t size = be32toh(request.len);
  nbd_reply header{};
  header.magic = htobe32(NBD_REPLY_MAGIC);
  std::memcpy(header.handle, request.handle, sizeof header.handle);
  std::string reply(reinterpret_cast<const char*>(&header), sizeof header);
  const bool forced = (type & NBD_CMD_FLAG_FUA) != 0;
  switch (type & 0xffffU) {
    case NBD_CMD_READ: {
      reply.resize(sizeof header + size);
      const std::lock_guard lock(mutex_);
      contents_.read(offset, reply.data() + sizeof header, size);
      for (std::uint64_t at = offset; at < offset + size; at += Pages::kBytes) {
        pages_read_.insert(at / Pages::kBytes);
      }
      break;
    }
    case NBD_CMD_WRITE: {
      std::string bytes(size, '\0');
      if (!read_all(socket, bytes.data(), size)) return false;
      const std::lock_guard lock(mutex_);
      contents_.write(offset, bytes);
      if (logging_) log_.push_back({false, forced, offset, std::move(bytes)});
      break;
    }
    case NBD_CMD_FLUSH: {
      const std::lock_guard lock(mutex_);
      if (logging_) log_.push_back({true, false, 0, {}});
      break;
    }
    default:  // the device offers no other request
      return false;
  }
  return send_all(socket, reply);
}

Pages BlockDevice::start_log() {
  const std::lock_guard lock(mutex_);
  logging_ = true;
  return contents_.copy();
}

std::size_t BlockDevice::position() {
  const std::lock_guard lock(mutex_);
  return log_.size();
}

BlockLog BlockDevice::log() {
  const std::lock_guard lock(mutex_);
  return log_;
}

void BlockDevice::replace(Pages contents) {
  {
    const std::lock_guard lock(mutex_);
    contents_ = std::move(contents);
  }
  (void)ioctl(device_.get(), BLKFLSBUF, 0);  // drop the kernel's page cache
  read_ahead();
}

void BlockDevice::read_ahead() {
  constexpr std::uint64_t kGap = 8;  // reading these pages as well is faster than another request
  std::set<std::uint64_t> pages;
  {
    const std::lock_guard lock(mutex_);
    pages = pages_read_;
  }
  for (auto it = pages.begin(); it != pages.end();) {
    const std::uint64_t first = *it;
    std::uint64_t last = first;
    for (; it != pages.end() && *it <= last + kGap; ++it) last = *it;
    (void)posix_fadvise(device_.get(), static_cast<off_t>(first * Pages::kBytes),
                        static_cast<off_t>((last - first + 1) * Pages::kBytes),
                        POSIX_FADV_WILLNEED);
  }
}

}  // namespace pinfold::guest
