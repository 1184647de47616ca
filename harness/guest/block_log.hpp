#pragma once

// What has been written to a disk, write by write, and what a power cut leaves of it. Pure: no
// device, no file system.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pinfold::guest {

/// A disk may tear a write between sectors, never within one.
inline constexpr std::size_t kSectorBytes = 512;

/// The bytes of a disk. What was never written is zero, or what lies below.
class Pages {
 public:
  /// `below` is only read, and must live as long.
  explicit Pages(const Pages* below = nullptr)
      : below_(below), sum_(below == nullptr ? 0 : below->sum_) {}

  void read(std::uint64_t offset, char* into, std::size_t size) const;
  void write(std::uint64_t offset, std::string_view bytes);
  [[nodiscard]] Pages copy() const;
  /// Equal for disks with equal bytes.
  [[nodiscard]] std::uint64_t sum() const { return sum_; }

  static constexpr std::size_t kBytes = 4096;  ///< of a page

 private:
  using Page = std::array<char, kBytes>;

  [[nodiscard]] const Page* find(std::uint64_t number) const;

  static std::uint64_t sum_of(std::uint64_t number, const Page& page);

  const Pages* below_;
  std::uint64_t sum_;  ///< of all pages that are not zeros
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

/// The requests of a disk, in the order of its answers.
struct LogEntry {
  bool flush = false;   ///< all writes before it are on the disk for good
  bool forced = false;  ///< a write that was on the disk when it was answered (FUA)
  std::uint64_t offset = 0;
  std::string bytes;
};
using BlockLog = std::vector<LogEntry>;

/// What happens to writes that the disk has acknowledged but not yet flushed. The host names
/// them by their numbers.
enum class Loss {
  kNone,  ///< all are on the disk
  kAll,   ///< the disk's cache is lost
  kSome,  ///< some are lost, whichever they are
  kTorn,  ///< some are lost, and of one some sectors
};

/// The power fails when the first `position` entries have been answered.
struct Cut {
  std::size_t position = 0;
  Loss loss = Loss::kNone;

  friend bool operator==(const Cut&, const Cut&) = default;
};

/// Every cut worth trying, in ascending position: with no loss after every write and at every mark;
/// with losses where the most can be lost, which is before a flush, after a forced write and at a
/// mark. A mark is a position at which something was acknowledged.
[[nodiscard]] std::vector<Cut> list_cuts(const BlockLog& log, const std::vector<std::size_t>& marks,
                                         const std::vector<Loss>& losses);

/// Makes the disks that cuts leave. Both arguments must live as long.
class Replay {
 public:
  /// `base`: the disk before the first entry; it is carried forward.
  Replay(Pages& base, const BlockLog& log) : durable_(base), log_(log) {}

  /// The disk after a cut, over the base. Cuts come in ascending position; what is lost is chosen
  /// by position, the same each time. A write that no step waits for any more (`acknowledged`: at a
  /// mark) is not torn.
  [[nodiscard]] Pages after(const Cut& cut, bool acknowledged);

 private:
  Pages& durable_;
  const BlockLog& log_;
  std::size_t begin_ = 0;  ///< of what is not yet in durable_
};

}  // namespace pinfold::guest
