#pragma once

#include <cstdint>
#include <string_view>

namespace pinfold::checkpoint {

/// Computes CRC-64/XZ.
[[nodiscard]] std::uint64_t crc64(std::string_view bytes);

}  // namespace pinfold::checkpoint
