#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <type_traits>

#include "pinfold/types/container_id.hpp"

namespace pinfold {

/// Values by container, ordered by pod and then by name.
/// A pod can be listed without containers: state files may contain that, and the kubelet then
/// writes it back.
template <class T>
class ContainerMap {
 public:
  /// The containers of one pod by name.
  using OfPod = std::map<std::string, T>;
  using ByPod = std::map<PodUid, OfPod>;

  /// The element of an iteration, for [pod, name, value]. `Value` is T or const T.
  template <class Value>
  struct Entry {
    const PodUid& pod;
    const std::string& name;
    Value& value;

    [[nodiscard]] ContainerId id() const { return {pod, name}; }
  };

  template <bool kIsConst>
  class Iterator;
  using iterator = Iterator<false>;
  using const_iterator = Iterator<true>;

  /// True if no pod is listed, not even one without containers.
  [[nodiscard]] bool empty() const { return pods_.empty(); }

  /// The value of a container, or nullptr.
  [[nodiscard]] const T* find(const ContainerId& id) const { return find_in(*this, id); }
  [[nodiscard]] T* find(const ContainerId& id) { return find_in(*this, id); }
  [[nodiscard]] bool contains(const ContainerId& id) const { return find(id) != nullptr; }

  /// The containers of a pod, or nullptr if it is not listed.
  [[nodiscard]] const OfPod* find(const PodUid& pod) const { return find_pod_in(*this, pod); }
  [[nodiscard]] OfPod* find(const PodUid& pod) { return find_pod_in(*this, pod); }
  [[nodiscard]] bool contains(const PodUid& pod) const { return pods_.contains(pod); }

  /// Creates a value if the container has none.
  T& operator[](const ContainerId& id) { return pods_[id.pod][id.name]; }
  /// Lists the pod if it is not.
  OfPod& operator[](const PodUid& pod) { return pods_[pod]; }

  /// Erases a container, and its pod if no container is left. False if the container is unknown.
  bool erase(const ContainerId& id) {
    const auto pod = pods_.find(id.pod);
    if (pod == pods_.end()) return false;
    const bool is_erased = pod->second.erase(id.name) > 0;
    if (pod->second.empty()) pods_.erase(pod);
    return is_erased;
  }
  /// Erases a pod with all its containers. False if it was not listed.
  bool erase(const PodUid& pod) { return pods_.erase(pod) > 0; }
  void clear() { pods_.clear(); }

  /// Erases the containers for which `matches(entry)` is true, then all pods without containers.
  template <class Predicate>
  void erase_if(const Predicate& matches) {
    for (auto pod = pods_.begin(); pod != pods_.end();) {
      OfPod& containers = pod->second;
      for (auto one = containers.begin(); one != containers.end();) {
        const bool is_match = matches(Entry<T>{pod->first, one->first, one->second});
        one = is_match ? containers.erase(one) : std::next(one);
      }
      pod = containers.empty() ? pods_.erase(pod) : std::next(pod);
    }
  }

  /// The same values nested by pod, as in state files.
  [[nodiscard]] const ByPod& by_pod() const { return pods_; }

  [[nodiscard]] const_iterator begin() const { return {pods_.begin(), pods_.end()}; }
  [[nodiscard]] const_iterator end() const { return {pods_.end(), pods_.end()}; }
  [[nodiscard]] iterator begin() { return {pods_.begin(), pods_.end()}; }
  [[nodiscard]] iterator end() { return {pods_.end(), pods_.end()}; }

  friend bool operator==(const ContainerMap&, const ContainerMap&) = default;

 private:
  template <class Self>
  static auto find_pod_in(Self& self, const PodUid& pod) -> decltype(&self.pods_.begin()->second) {
    const auto found = self.pods_.find(pod);
    return found == self.pods_.end() ? nullptr : &found->second;
  }
  template <class Self>
  static auto find_in(Self& self, const ContainerId& id)
      -> decltype(&self.pods_.begin()->second.begin()->second) {
    const auto containers = find_pod_in(self, id.pod);
    if (containers == nullptr) return nullptr;
    const auto found = containers->find(id.name);
    return found == containers->end() ? nullptr : &found->second;
  }

  ByPod pods_;
};

/// Visits the containers pod by pod; skips pods without containers.
template <class T>
template <bool kIsConst>
class ContainerMap<T>::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Entry<std::conditional_t<kIsConst, const T, T>>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  reference operator*() const { return {pod_->first, container_->first, container_->second}; }
  Iterator& operator++() {
    ++container_;
    skip_empty();
    return *this;
  }
  friend bool operator==(const Iterator& a, const Iterator& b) {
    return a.pod_ == b.pod_ && (a.pod_ == a.end_ || a.container_ == b.container_);
  }

 private:
  friend class ContainerMap;
  using Pod =
      std::conditional_t<kIsConst, typename ByPod::const_iterator, typename ByPod::iterator>;
  using Container =
      std::conditional_t<kIsConst, typename OfPod::const_iterator, typename OfPod::iterator>;

  Iterator(Pod pod, Pod end) : pod_(pod), end_(end) {
    if (pod_ == end_) return;
    container_ = pod_->second.begin();
    skip_empty();
  }
  void skip_empty() {
    while (container_ == pod_->second.end()) {
      if (++pod_ == end_) return;
      container_ = pod_->second.begin();
    }
  }

  Pod pod_;
  Pod end_;
  Container container_;
};

}  // namespace pinfold
