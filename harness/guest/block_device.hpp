#pragma once

// A disk of the guest that lies in its memory and is served by the agent: the kernel talks to it
// through a network block device, with flushes and forced writes as to any disk with a cache.

#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "block_log.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::guest {

/// One of /dev/nbd*. Once attached it must live until the machine ends. It answers the kernel in a
/// separate thread; the functions here may be called at any time.
class BlockDevice {
 public:
  explicit BlockDevice(int number);
  BlockDevice(const BlockDevice&) = delete;
  BlockDevice& operator=(const BlockDevice&) = delete;

  /// `sector`: bytes that the kernel may read or write at least.
  /// Returns "", or why the kernel does not take it.
  [[nodiscard]] std::string attach(std::uint64_t bytes, std::size_t sector);
  [[nodiscard]] const std::string& path() const { return path_; }

  /// From now on remembers what is written. Returns what the disk has at this moment.
  [[nodiscard]] Pages start_log();
  /// So many entries has the log.
  [[nodiscard]] std::size_t position();
  [[nodiscard]] BlockLog log();

  /// Becomes another disk, and lets the kernel read ahead what it has read of earlier ones: one
  /// long request takes much less time than many short ones. Nothing may be mounted.
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
  std::set<std::uint64_t> pages_read_;  ///< numbers
};

}  // namespace pinfold::guest
