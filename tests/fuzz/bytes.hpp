#pragma once

#include <cstdint>
#include <span>

namespace pinfold::test {

/// Draws numbers from the bytes of an input, one byte each; zeros when none are left.
class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  unsigned below(unsigned limit) {
    if (bytes_.empty()) return 0;
    const unsigned value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value % limit;
  }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace pinfold::test
