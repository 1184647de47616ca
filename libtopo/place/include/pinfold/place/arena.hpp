#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace pinfold::place {

/// The memory for the intermediate results of one decision: given out from front to back, and taken
/// back as a whole. The caller owns the bytes.
class Arena {
 public:
  /// Every piece begins at a multiple of this.
  static constexpr std::size_t kAlignment = alignof(std::max_align_t);

  explicit Arena(std::span<std::byte> bytes) : next_(bytes.data()), end_(next_ + bytes.size()) {
    void* first = next_;
    std::size_t left = bytes.size();
    next_ = static_cast<std::byte*>(std::align(kAlignment, 0, first, left));
    if (next_ == nullptr) next_ = end_;
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Returns `count` values without contents. Throws std::bad_alloc if the memory is used up.
  template <class T>
  [[nodiscard]] std::span<T> make_raw(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    static_assert(alignof(T) <= kAlignment);
    const std::size_t size = (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    if (size > static_cast<std::size_t>(end_ - next_)) throw std::bad_alloc();
    T* const first = reinterpret_cast<T*>(next_);  // NOLINT: bytes of the arena become values
    next_ += size;
    return {first, count};
  }
  /// Returns `count` zeros.
  template <class T>
  [[nodiscard]] std::span<T> make(std::size_t count) {
    const std::span<T> values = make_raw<T>(count);
    for (T& value : values) value = T{};
    return values;
  }
  /// Returns a copy.
  template <class T>
  [[nodiscard]] std::span<T> copy(std::span<const T> values) {
    const std::span<T> copies = make_raw<T>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) copies[i] = values[i];
    return copies;
  }

  /// At its end, takes back what was given out during its lifetime.
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(arena), next_(arena.next_) {}
    ~Scope() { arena_.next_ = next_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    std::byte* next_;
  };

 private:
  std::byte* next_;
  std::byte* end_;
};

/// An arena that owns its memory.
class HeapArena {
 public:
  explicit HeapArena(std::size_t size)
      : bytes_(std::make_unique_for_overwrite<std::byte[]>(size)), arena_({bytes_.get(), size}) {}

  [[nodiscard]] Arena& arena() { return arena_; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  Arena arena_;
};

}  // namespace pinfold::place
