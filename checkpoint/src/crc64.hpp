#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pinfold::checkpoint {

/// Computes CRC-64/XZ.
[[nodiscard]] std::uint64_t crc64(std::string_view bytes);
/// Does the same, faster for a text that ends in many zero bytes.
[[nodiscard]] std::uint64_t crc64_of_padded(std::string_view bytes);

/// Returns the factor by which `size` bytes after a text multiply its sum; see crc64_of_both.
[[nodiscard]] std::uint64_t crc64_factor(std::size_t size);
/// Returns the sum of two texts, one after the other, without reading them. `factor`: crc64_factor
/// of the size of the second.
[[nodiscard]] std::uint64_t crc64_of_both(std::uint64_t first, std::uint64_t second,
                                          std::uint64_t factor);

}  // namespace pinfold::checkpoint
