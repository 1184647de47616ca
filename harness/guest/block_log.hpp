#pragma once

// The log of writes to a disk, and the disk that remains after a power cut. Pure: no device, no
// file system.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pinfold/harness/write_loss.hpp"

namespace pinfold::guest {

using harness::WriteLoss;

/// The smallest sector of a disk, in bytes.
inline constexpr std::size_t kSectorBytes = 512;

/// The bytes of a disk. Pages that were never written are zero, or are those of `below`.
class Pages {
 public:
  /// `below` is only read, and must outlive this object.
  explicit Pages(const Pages* below = nullptr)
      : below_(below), sum_(below == nullptr ? 0 : below->sum_) {}

  void read(std::uint64_t offset, char* into, std::size_t size) const;
  void write(std::uint64_t offset, std::string_view bytes);
  [[nodiscard]] Pages copy() const;
  /// Returns a sum that is equal for disks with equal bytes.
  [[nodiscard]] std::uint64_t sum() const { return sum_; }

  static constexpr std::size_t kBytes = 4096;  ///< of a page

 private:
  using Page = std::array<char, kBytes>;

  [[nodiscard]] const Page* find(std::uint64_t number) const;

  static std::uint64_t sum_of(std::uint64_t number, const Page& page);

  const Pages* below_;
  std::uint64_t sum_;  ///< of all pages that were written
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

/// A request to a disk; a log lists requests in the order of completion.
struct LogEntry {
  bool flush = false;   ///< all earlier writes are durable
  bool forced = false;  ///< the write was durable when it completed (FUA)
  std::uint64_t offset = 0;
  std::string bytes;
};
using BlockLog = std::vector<LogEntry>;

/// A power cut after the first `position` entries have completed.
struct Cut {
  std::size_t position = 0;
  WriteLoss loss = WriteLoss::kNone;

  friend bool operator==(const Cut&, const Cut&) = default;
};

/// Returns all useful cuts, in ascending position. Without loss: after every write and at every
/// mark. With loss: where the most can be lost, which is before a flush, after a forced write and
/// at a mark. A mark is a position at which something was acknowledged.
[[nodiscard]] std::vector<Cut> list_cuts(const BlockLog& log, const std::vector<std::size_t>& marks,
                                         const std::vector<WriteLoss>& losses);

/// Computes the disks that remain after cuts. Both arguments must outlive it.
class Replay {
 public:
  /// `base`: the disk before the first entry; replay updates it. `sector`: a write may be torn
  /// between sectors of this many bytes, never within one.
  Replay(Pages& base, const BlockLog& log, std::size_t sector)
      : durable_(base), log_(log), sector_(sector) {}

  /// Returns the disk after a cut, as changes to the base. Cuts must come in ascending position.
  /// Random choices are seeded with the position, so they are reproducible. Writes that can be lost
  /// can be torn, and so can a forced write that has just completed, unless the cut is at a mark
  /// (`acknowledged`).
  [[nodiscard]] Pages after(const Cut& cut, bool acknowledged);

 private:
  Pages& durable_;
  const BlockLog& log_;
  std::size_t sector_;
  std::size_t begin_ = 0;  ///< the first entry not yet in durable_
};

}  // namespace pinfold::guest
