#pragma once

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

namespace pinfold {

/// A vector whose copies share all elements that neither has changed since, so a copy costs one
/// pointer per element. An element keeps its address until it is edited or erased. Different
/// threads may use different copies.
template <class T>
class SharedVector {
  struct Element {
    explicit Element(T&& from) : value(std::move(from)) {}
    T value;
    std::atomic<std::size_t> owners{1};
  };

  /// Owns an element together with its copies.
  class Pointer {
   public:
    explicit Pointer(T&& value) : element_(new Element(std::move(value))) {}
    Pointer(const Pointer& other) noexcept : element_(other.element_) {
      element_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    Pointer(Pointer&& other) noexcept : element_(std::exchange(other.element_, nullptr)) {}
    Pointer& operator=(Pointer other) noexcept {
      std::swap(element_, other.element_);
      return *this;
    }
    ~Pointer() {
      if (element_ == nullptr) return;
      if (element_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete element_;
    }
    [[nodiscard]] T& operator*() const { return element_->value; }
    /// Read with acquire, so a thread that has dropped its copy has finished reading.
    [[nodiscard]] bool is_shared() const {
      return element_->owners.load(std::memory_order_acquire) > 1;
    }
    friend bool operator==(const Pointer&, const Pointer&) = default;

   private:
    Element* element_;  // null only if moved from
  };
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
    explicit Iterator(typename Pointers::const_iterator at) : at_(at) {}
    typename Pointers::const_iterator at_;
  };
  using iterator = Iterator;
  using const_iterator = Iterator;

  SharedVector() = default;
  SharedVector(std::initializer_list<T> values) {
    for (const T& value : values) push_back(value);
  }

  [[nodiscard]] bool empty() const { return elements_.empty(); }
  [[nodiscard]] std::size_t size() const { return elements_.size(); }
  [[nodiscard]] Iterator begin() const { return Iterator(elements_.begin()); }
  [[nodiscard]] Iterator end() const { return Iterator(elements_.end()); }
  [[nodiscard]] const T& operator[](std::size_t index) const { return *elements_[index]; }
  [[nodiscard]] const T& front() const { return *elements_.front(); }
  [[nodiscard]] const T& back() const { return *elements_.back(); }

  /// Returns an element for writing, no longer shared with any copy. Iterators stay valid.
  [[nodiscard]] T& edit(Iterator at) {
    auto& element = elements_[static_cast<std::size_t>(at - begin())];
    if (element.is_shared()) element = Pointer(T(*element));
    return *element;
  }

  void push_back(T value) { elements_.emplace_back(std::move(value)); }
  Iterator insert(Iterator at, T value) {
    return Iterator(elements_.emplace(at.at_, std::move(value)));
  }
  Iterator erase(Iterator at) { return Iterator(elements_.erase(at.at_)); }
  void clear() { elements_.clear(); }

  friend bool operator==(const SharedVector& a, const SharedVector& b) {
    return std::equal(
        a.elements_.begin(), a.elements_.end(), b.elements_.begin(), b.elements_.end(),
        [](const auto& one, const auto& other) { return one == other || *one == *other; });
  }

 private:
  Pointers elements_;
};

}  // namespace pinfold
