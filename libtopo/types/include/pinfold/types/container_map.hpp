#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/types/container_id.hpp"
#include "pinfold/types/shared_vector.hpp"

namespace pinfold {

/// Values by container, ordered by pod and then by name. Copies share all pods that neither has
/// changed since.
/// A pod can be listed without containers: state files may contain such a pod, and the kubelet
/// writes it back.
template <class T>
class ContainerMap {
 public:
  /// The containers of one pod by name.
  using OfPod = std::map<std::string, T>;
  /// The pods in ascending order of their UIDs.
  using ByPod = SharedVector<std::pair<PodUid, OfPod>>;

  /// An element of an iteration; bind it to [pod, name, value].
  struct Entry {
    const PodUid& pod;
    const std::string& name;
    const T& value;

    [[nodiscard]] ContainerId id() const { return {pod, name}; }
  };

  class Iterator;
  using iterator = Iterator;
  using const_iterator = Iterator;

  /// True if no pod is listed, not even one without containers.
  [[nodiscard]] bool empty() const { return pods_.empty(); }

  /// Returns the value of a container, or nullptr. It is valid until its pod is edited or erased.
  [[nodiscard]] const T* find(const ContainerId& id) const {
    const OfPod* const containers = find(id.pod);
    if (containers == nullptr) return nullptr;
    const auto found = containers->find(id.name);
    return found == containers->end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool contains(const ContainerId& id) const { return find(id) != nullptr; }

  /// Returns the containers of a pod, or nullptr if it is not listed.
  [[nodiscard]] const OfPod* find(const PodUid& pod) const {
    const auto found = place_of(pod);
    return is_at(found, pod) ? &found->second : nullptr;
  }
  [[nodiscard]] bool contains(const PodUid& pod) const { return find(pod) != nullptr; }

  /// Returns a value for writing; creates it if the container is not listed.
  T& operator[](const ContainerId& id) { return (*this)[id.pod][id.name]; }
  /// Returns a pod's containers for writing; lists the pod if necessary.
  OfPod& operator[](const PodUid& pod) {
    const auto found = place_of(pod);
    return pods_.edit(is_at(found, pod) ? found : pods_.insert(found, {pod, {}})).second;
  }

  /// Erases a container, and its pod if no container is left. Returns false for an unknown
  /// container.
  bool erase(const ContainerId& id) {
    const auto found = place_of(id.pod);
    if (!is_at(found, id.pod)) return false;
    const bool is_known = found->second.contains(id.name);
    if (found->second.size() <= (is_known ? 1U : 0U)) {
      pods_.erase(found);
    } else if (is_known) {
      pods_.edit(found).second.erase(id.name);
    }
    return is_known;
  }
  /// Erases a pod with all its containers. Returns false if it was not listed.
  bool erase(const PodUid& pod) {
    const auto found = place_of(pod);
    if (!is_at(found, pod)) return false;
    pods_.erase(found);
    return true;
  }
  void clear() { pods_.clear(); }

  /// Erases the containers for which `matches(entry)` is true, then all pods without containers.
  template <class Predicate>
  void erase_if(const Predicate& matches) {
    for (std::size_t i = 0; i < pods_.size();) {
      std::vector<std::string> names;
      for (const auto& [name, value] : pods_[i].second) {
        if (matches(Entry{pods_[i].first, name, value})) names.push_back(name);
      }
      if (names.size() == pods_[i].second.size()) {
        pods_.erase(place(i));
        continue;
      }
      if (!names.empty()) {
        OfPod& containers = pods_.edit(place(i)).second;
        for (const std::string& name : names) containers.erase(name);
      }
      ++i;
    }
  }

  /// Calls `change(id, value)` for every container.
  template <class Change>
  void change_all(const Change& change) {
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      auto& [uid, containers] = pods_.edit(place(i));
      for (auto& [name, value] : containers) change(ContainerId{uid, name}, value);
    }
  }

  /// Calls visit(UID, containers in `before`, containers in `after`) for each pod that the two maps
  /// do not share; nullptr for the map that does not list the pod.
  template <class Visit>
  static void for_each_change(const ContainerMap& before, const ContainerMap& after,
                              const Visit& visit) {
    const auto uid = [](const auto& entry) -> const PodUid& { return entry.first; };
    using Pod = typename ByPod::value_type;
    ByPod::for_each_change(before.pods_, after.pods_, uid, [&](const Pod* old, const Pod* now) {
      visit((old != nullptr ? old : now)->first, old != nullptr ? &old->second : nullptr,
            now != nullptr ? &now->second : nullptr);
    });
  }

  /// Returns the same values nested by pod, as in state files.
  [[nodiscard]] const ByPod& by_pod() const { return pods_; }

  [[nodiscard]] Iterator begin() const { return {pods_.begin(), pods_.end()}; }
  [[nodiscard]] Iterator end() const { return {pods_.end(), pods_.end()}; }

  friend bool operator==(const ContainerMap&, const ContainerMap&) = default;

 private:
  using Place = typename ByPod::const_iterator;

  [[nodiscard]] Place place(std::size_t index) const {
    return pods_.begin() + static_cast<std::ptrdiff_t>(index);
  }
  /// Returns the position of a pod, or where to insert it.
  [[nodiscard]] Place place_of(const PodUid& pod) const {
    return std::lower_bound(pods_.begin(), pods_.end(), pod,
                            [](const auto& entry, const PodUid& uid) { return entry.first < uid; });
  }
  [[nodiscard]] bool is_at(const Place& place, const PodUid& pod) const {
    return place != pods_.end() && place->first == pod;
  }

  ByPod pods_;
};

/// Visits the containers pod by pod; skips pods without containers.
template <class T>
class ContainerMap<T>::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Entry;
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

  Iterator(Place pod, Place end) : pod_(pod), end_(end) {
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

  Place pod_;
  Place end_;
  typename OfPod::const_iterator container_;
};

}  // namespace pinfold
