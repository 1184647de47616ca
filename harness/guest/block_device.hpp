#pragma once

// A disk in the guest's memory that the agent serves as a network block device (NBD). It supports
// flushes and forced writes, like any disk with a cache.

#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "block_log.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::guest {

/// One of /dev/nbd*. Once attached it must exist until the machine ends. A separate thread serves
/// the kernel; the functions here may be called at any time.
class BlockDevice {
 public:
  explicit BlockDevice(int number);
  BlockDevice(const BlockDevice&) = delete;
  BlockDevice& operator=(const BlockDevice&) = delete;

  /// Attaches the device. `sector`: the smallest unit in bytes that the kernel may read or write.
  /// Returns "", or the reason why the kernel does not accept it.
  [[nodiscard]] std::string attach(std::uint64_t bytes, std::size_t sector);
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Starts to log writes. Returns the current contents of the disk.
  [[nodiscard]] Pages start_log();
  /// Returns the number of entries in the log.
  [[nodiscard]] std::size_t position();
  [[nodiscard]] BlockLog log();

  /// Replaces the contents and prefetches the pages that the kernel read from earlier contents: one
  /// long request is much faster than many short ones. The device must not be mounted.
  void replace(Pages contents);

 private:
  void serve();
  [[nodiscard]] bool answer(int socket);
  void read_ahead();

  int number_;
  std::string path_;
  UniqueFd device_;
  UniqueFd kernel_socket_;
  UniqueFd our_socket_;
  std::mutex mutex_;
  Pages contents_;
  bool logging_ = false;
  BlockLog log_;
  std::set<std::uint64_t> pages_read_;  ///< page numbers
};

}  // namespace pinfold::guest
