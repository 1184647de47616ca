#pragma once

#include <algorithm>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
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
  struct Element : boost::intrusive_ref_counter<Element, boost::thread_safe_counter> {
    explicit Element(T&& from) : value(std::move(from)) {}
    T value;
  };
  using Pointers = std::vector<boost::intrusive_ptr<Element>>;

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
    reference operator*() const { return (*at_)->value; }
    pointer operator->() const { return &(*at_)->value; }
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
  [[nodiscard]] const T& operator[](std::size_t index) const { return elements_[index]->value; }
  [[nodiscard]] const T& front() const { return elements_.front()->value; }
  [[nodiscard]] const T& back() const { return elements_.back()->value; }

  /// Returns an element for writing, no longer shared with any copy. Iterators stay valid.
  [[nodiscard]] T& edit(Iterator at) {
    auto& element = elements_[static_cast<std::size_t>(at - begin())];
    // The count is read with acquire, so a thread that has dropped its copy has finished reading.
    if (element->use_count() > 1) element = make(T(element->value));
    return element->value;
  }

  void push_back(T value) { elements_.push_back(make(std::move(value))); }
  Iterator insert(Iterator at, T value) {
    return Iterator(elements_.insert(at.at_, make(std::move(value))));
  }
  Iterator erase(Iterator at) { return Iterator(elements_.erase(at.at_)); }
  void clear() { elements_.clear(); }

  friend bool operator==(const SharedVector& a, const SharedVector& b) {
    return std::equal(a.elements_.begin(), a.elements_.end(), b.elements_.begin(),
                      b.elements_.end(), [](const auto& one, const auto& other) {
                        return one == other || one->value == other->value;
                      });
  }

 private:
  static boost::intrusive_ptr<Element> make(T&& value) { return new Element(std::move(value)); }

  Pointers elements_;
};

}  // namespace pinfold
