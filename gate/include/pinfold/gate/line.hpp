#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

namespace pinfold::gate {

/// Text in a buffer of the caller; leaves out what does not fit.
class Line {
 public:
  explicit Line(std::span<char> buffer) : buffer_(buffer) {}

  Line& add(std::string_view text) {
    text = text.substr(0, buffer_.size() - size_);
    std::copy(text.begin(), text.end(), buffer_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += text.size();
    return *this;
  }
  Line& add(std::integral auto number) {
    char* const begin = buffer_.data() + size_;
    const auto [end, error] = std::to_chars(begin, buffer_.data() + buffer_.size(), number);
    if (error == std::errc{}) size_ += static_cast<std::size_t>(end - begin);
    return *this;
  }

  [[nodiscard]] std::string_view view() const { return {buffer_.data(), size_}; }
  /// True if certainly nothing was left out.
  [[nodiscard]] bool fits() const { return size_ < buffer_.size(); }

 private:
  std::span<char> buffer_;
  std::size_t size_ = 0;
};

}  // namespace pinfold::gate
