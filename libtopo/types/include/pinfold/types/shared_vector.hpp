#pragma once

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace pinfold {

/// Owns a value together with its copies.
template <class Value>
class CountedPointer {
 public:
  CountedPointer() = default;  ///< null
  explicit CountedPointer(Value&& value) : counted_(new Counted(std::move(value))) {}
  CountedPointer(const CountedPointer& other) noexcept : counted_(other.counted_) {
    if (counted_ != nullptr) counted_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  CountedPointer(CountedPointer&& other) noexcept
      : counted_(std::exchange(other.counted_, nullptr)) {}
  CountedPointer& operator=(CountedPointer other) noexcept {
    std::swap(counted_, other.counted_);
    return *this;
  }
  ~CountedPointer() {
    if (counted_ == nullptr) return;
    if (counted_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete counted_;
  }
  [[nodiscard]] bool is_null() const { return counted_ == nullptr; }
  [[nodiscard]] Value& operator*() const { return counted_->value; }
  [[nodiscard]] Value* operator->() const { return &counted_->value; }
  /// Read with acquire, so a thread that has dropped its copy has finished reading.
  [[nodiscard]] bool is_shared() const {
    return counted_->owners.load(std::memory_order_acquire) > 1;
  }
  friend bool operator==(const CountedPointer&, const CountedPointer&) = default;

 private:
  struct Counted {
    explicit Counted(Value&& from) : value(std::move(from)) {}
    Value value;
    std::atomic<std::size_t> owners{1};
  };
  Counted* counted_ = nullptr;
};

/// A vector whose copies share all elements that neither has changed since. A copy costs one
/// pointer; the first change after it copies one pointer per element. An element keeps its address
/// until it is edited or erased. Different threads may use different copies.
template <class T>
class SharedVector {
  using Pointer = CountedPointer<T>;
  using Pointers = std::vector<Pointer>;

 public:
  using value_type = T;

  /// A read-only iterator; edit() changes an element.
  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    Iterator() = default;
    reference operator*() const { return **at_; }
    pointer operator->() const { return &**at_; }
    reference operator[](difference_type n) const { return *(*this + n); }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this -= 1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator operator--(int) { return std::exchange(*this, *this - 1); }
    Iterator& operator+=(difference_type n) {
      at_ += n;
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    friend Iterator operator+(Iterator at, difference_type n) { return at += n; }
    friend Iterator operator+(difference_type n, Iterator at) { return at += n; }
    friend Iterator operator-(Iterator at, difference_type n) { return at -= n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) { return a.at_ - b.at_; }
    friend auto operator<=>(const Iterator&, const Iterator&) = default;

   private:
    friend class SharedVector;
    explicit Iterator(const Pointer* at) : at_(at) {}
    const Pointer* at_ = nullptr;
  };
  using iterator = Iterator;
  using const_iterator = Iterator;

  SharedVector() = default;
  SharedVector(std::initializer_list<T> values) {
    for (const T& value : values) push_back(value);
  }

  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] std::size_t size() const { return elements().size(); }
  [[nodiscard]] Iterator begin() const { return Iterator(elements().data()); }
  [[nodiscard]] Iterator end() const { return begin() + std::ssize(elements()); }
  [[nodiscard]] const T& operator[](std::size_t index) const { return *elements()[index]; }
  [[nodiscard]] const T& front() const { return *elements().front(); }
  [[nodiscard]] const T& back() const { return *elements().back(); }

  /// Returns an element for writing, no longer shared with any copy. Invalidates iterators, like
  /// all functions that change the vector.
  [[nodiscard]] T& edit(Iterator at) {
    Pointer& element = *own_place(at);
    if (element.is_shared()) element = Pointer(T(*element));
    return *element;
  }

  void push_back(T value) { insert(end(), std::move(value)); }
  Iterator insert(Iterator at, T value) {
    const auto place = own_place(at);
    return Iterator(&*root_->insert(place, Pointer(std::move(value))));
  }
  Iterator erase(Iterator at) {
    const std::ptrdiff_t index = at - begin();
    const auto place = own_place(at);
    root_->erase(place);
    return begin() + index;
  }
  void clear() { root_ = {}; }

  friend bool operator==(const SharedVector& a, const SharedVector& b) {
    return a.root_ == b.root_ ||
           std::ranges::equal(a.elements(), b.elements(), [](const auto& one, const auto& other) {
             return one == other || *one == *other;
           });
  }

  /// The parts of two vectors between the first and the last elements that the two share.
  struct Unshared {
    Iterator before;
    Iterator before_end;
    Iterator after;
    Iterator after_end;
  };
  [[nodiscard]] static Unshared unshared(const SharedVector& before, const SharedVector& after) {
    auto [old, now] = std::ranges::mismatch(before.elements(), after.elements());
    auto old_end = before.elements().end();
    auto now_end = after.elements().end();
    while (old != old_end && now != now_end && *std::prev(old_end) == *std::prev(now_end)) {
      --old_end;
      --now_end;
    }
    const auto at = [](const SharedVector& from, auto place) {
      return from.begin() + (place - from.elements().begin());
    };
    return {at(before, old), at(before, old_end), at(after, now), at(after, now_end)};
  }

  /// Calls visit(element of `before`, element of `after`) for each key whose elements the two do
  /// not share; nullptr for the vector that does not have the key. Domain: both are in ascending
  /// order of key(element), without duplicates.
  template <class Key, class Visit>
  static void for_each_change(const SharedVector& before, const SharedVector& after, const Key& key,
                              const Visit& visit) {
    if (before.root_ == after.root_) return;
    auto [old, old_end, now, now_end] = unshared(before, after);
    while (old != old_end && now != now_end) {
      const T* const one = &*old;
      const T* const other = &*now;
      const std::strong_ordering order =
          one == other ? std::strong_ordering::equal : key(*one) <=> key(*other);
      const bool has_old = order <= 0;
      const bool has_new = order >= 0;
      if (one != other) visit(has_old ? one : nullptr, has_new ? other : nullptr);
      if (has_old) ++old;
      if (has_new) ++now;
    }
    for (; old != old_end; ++old) visit(&*old, nullptr);
    for (; now != now_end; ++now) visit(nullptr, &*now);
  }

 private:
  [[nodiscard]] std::span<const Pointer> elements() const {
    return root_.is_null() ? std::span<const Pointer>() : std::span<const Pointer>(*root_);
  }
  /// Returns an element's place for writing; the pointers are then no longer shared with any copy.
  [[nodiscard]] typename Pointers::iterator own_place(Iterator at) {
    const std::ptrdiff_t index = at - begin();
    if (root_.is_null() || root_.is_shared()) {
      root_ = CountedPointer<Pointers>(Pointers(elements().begin(), elements().end()));
    }
    return root_->begin() + index;
  }

  CountedPointer<Pointers> root_;  ///< null: no elements
};

}  // namespace pinfold
