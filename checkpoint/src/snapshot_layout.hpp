#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The layout of a snapshot: a header, then two slots of `capacity` bytes.
namespace pinfold::checkpoint::snapshot {

using Word = std::uint64_t;

inline constexpr Word kMagic = 0x70616e736e667031;  // "1pfnsnap" in x86 memory order
inline constexpr Word kVersion = 4;

struct Slot {
  Word sequence;  ///< odd during a write
  Word size;      ///< bytes of the payload
  Word hash;      ///< crc64 of the payload
  Word log;       ///< bytes of the records after the payload
};

struct Header {
  Word magic;
  Word version;
  std::array<char, 40> boot_id;  ///< the kernel's boot id, zero-padded
  Word capacity;                 ///< of a slot, a multiple of 8
  Word generation;               ///< its lowest bit is the index of the current slot
  std::array<Slot, 2> slots;
};
static_assert(sizeof(Header) % sizeof(Word) == 0);

/// Returns the size rounded up to whole words.
[[nodiscard]] constexpr std::size_t whole_words(std::size_t size) {
  return (size + sizeof(Word) - 1) / sizeof(Word) * sizeof(Word);
}

}  // namespace pinfold::checkpoint::snapshot
