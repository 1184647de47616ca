#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/types/shared_vector.hpp"

namespace pinfold {

/// A pod that runs on the node.
struct ActivePod {
  PodSpec spec;
  /// Containers that were started and not removed since; survives a restart.
  std::set<std::string> started;

  friend bool operator==(const ActivePod&, const ActivePod&) = default;
};

/// The active pods in the order of their admission. Finds a pod by its UID, and knows what all of
/// them request together, without a walk over all pods. Copies share the pods that neither has
/// changed since. Functions that change the pods invalidate iterators.
class ActivePods {
 public:
  using Iterator = SharedVector<ActivePod>::Iterator;
  using iterator = Iterator;
  using const_iterator = Iterator;
  using value_type = ActivePod;

  ActivePods() = default;
  ActivePods(std::initializer_list<ActivePod> pods) {
    for (const ActivePod& pod : pods) push_back(pod);
  }

  [[nodiscard]] bool empty() const { return pods_.empty(); }
  [[nodiscard]] std::size_t size() const { return pods_.size(); }
  [[nodiscard]] Iterator begin() const { return pods_.begin(); }
  [[nodiscard]] Iterator end() const { return pods_.end(); }
  [[nodiscard]] const ActivePod& operator[](std::size_t index) const { return pods_[index]; }
  [[nodiscard]] const ActivePod& front() const { return pods_.front(); }
  [[nodiscard]] const ActivePod& back() const { return pods_.back(); }

  /// Returns the place of a pod; end() if it is not active.
  [[nodiscard]] Iterator find(const PodUid& uid) const;

  /// Adds a pod. Domain: no pod with this UID is active.
  void push_back(ActivePod pod);
  /// Replaces the spec of a pod. Domain: `spec` has the UID of the pod at `at`.
  void replace_spec(Iterator at, PodSpec spec);
  /// Returns the started containers of a pod for writing.
  [[nodiscard]] std::set<std::string>& edit_started(Iterator at) { return pods_.edit(at).started; }
  void erase(Iterator at);
  void clear() { *this = {}; }

  /// Returns how much of a resource ("cpu" in milli-CPUs, "memory", "hugepages-2Mi" in bytes) the
  /// pods except `left_out` request, each rounded up; at most the largest std::int64_t. 0 for other
  /// resources.
  [[nodiscard]] std::int64_t requested(const FeatureGates& gates, std::string_view resource,
                                       const PodUid& left_out) const;

  /// Calls visit(pod in `before`, pod in `after`) for each pod that the two do not share, in the
  /// order of their UIDs; nullptr where it is not active.
  static void for_each_change(const ActivePods& before, const ActivePods& after,
                              const std::function<void(const ActivePod*, const ActivePod*)>& visit);

  /// Compares pods and their order.
  friend bool operator==(const ActivePods& a, const ActivePods& b) { return a.pods_ == b.pods_; }

 private:
  /// In the units of requested().
  using Totals = std::map<std::string, Quantity::Int128, std::less<>>;
  using Position = std::uint32_t;

  /// Returns where the index has a pod, or where to insert it.
  [[nodiscard]] std::vector<Position>::const_iterator rank_of(const PodUid& uid) const;
  /// Adds the requests of a pod, `times` times.
  void count(const PodSpec& spec, int times);

  SharedVector<ActivePod> pods_;
  std::vector<Position> by_uid_;  ///< positions in pods_, by UID
  std::array<Totals, 2> totals_;  ///< without and with pod-level resources
};

}  // namespace pinfold
