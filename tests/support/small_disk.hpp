#pragma once

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "temp_dir.hpp"

namespace pinfold::test {

/// A file system in memory with 1 MiB of space. Only root can mount it: see can_mount().
class SmallDisk {
 public:
  static constexpr std::size_t kPage = 4096;

  [[nodiscard]] static bool can_mount() {
    const TempDir directory;
    if (::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=1m") != 0) return false;
    return ::umount2(directory.path().c_str(), MNT_DETACH) == 0;
  }

  SmallDisk() {
    if (::mount("tmpfs", path().c_str(), "tmpfs", 0, "size=1m,mode=0700") != 0) {
      throw std::runtime_error("mount " + path());
    }
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() { (void)::umount2(path().c_str(), MNT_DETACH); }

  [[nodiscard]] const std::string& path() const { return directory_.path(); }

  /// Fills the disk until only this many pages are free.
  void leave_free(std::size_t pages) const {
    empty();
    struct statvfs facts = {};
    const int fd = ::open((path() + "/ballast").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const bool filled =
        fd >= 0 && ::fstatvfs(fd, &facts) == 0 && facts.f_bavail >= pages &&
        (facts.f_bavail == pages ||
         ::posix_fallocate(fd, 0, static_cast<off_t>((facts.f_bavail - pages) * kPage)) == 0);
    if (fd >= 0) ::close(fd);
    if (!filled) throw std::runtime_error("fill " + path());
  }
  /// Removes the file that fills the disk.
  void empty() const { (void)::unlink((path() + "/ballast").c_str()); }

  void make_read_only() const {
    if (::mount("tmpfs", path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      throw std::runtime_error("remount " + path());
    }
  }

 private:
  TempDir directory_;
};

}  // namespace pinfold::test
