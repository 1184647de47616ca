#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

// The kubelet's search for NUMA nodes to spread CPUs over: every combination, every subset,
// floating point, and lists that behave like Go's slices. Slow: the reference for the fast search.
namespace pinfold::test {

/// A Go slice of int: a view of an array that other slices may share.
class GoSlice {
 public:
  [[nodiscard]] std::vector<int> values() const {
    return array_ == nullptr
               ? std::vector<int>{}
               : std::vector<int>(array_->begin(),
                                  array_->begin() + static_cast<std::ptrdiff_t>(size_));
  }
  [[nodiscard]] bool is_nil() const { return array_ == nullptr; }

  /// Implements append(): in place if the array has room, otherwise in a new array of twice the
  /// size.
  [[nodiscard]] GoSlice appended(int value) const {
    GoSlice longer = *this;
    const std::size_t room = array_ == nullptr ? 0 : array_->size();
    if (size_ == room) {
      longer.array_ = std::make_shared<std::vector<int>>(std::max<std::size_t>(1, 2 * room));
      const std::vector<int> old = values();
      std::copy(old.begin(), old.end(), longer.array_->begin());
    }
    (*longer.array_)[size_] = value;
    ++longer.size_;
    return longer;
  }
  /// Returns the same values in a separate array, as a correct program would store them.
  [[nodiscard]] GoSlice copy() const {
    GoSlice own = *this;
    if (array_ != nullptr) own.array_ = std::make_shared<std::vector<int>>(*array_);
    return own;
  }

 private:
  std::shared_ptr<std::vector<int>> array_;
  std::size_t size_ = 0;
};

/// Calls visit(GoSlice) for each choice of k items until it returns false.
template <class Visit>
bool each_choice(const std::vector<int>& items, int k, const Visit& visit, std::size_t start = 0,
                 const GoSlice& chosen = {}) {
  if (k == 0) return visit(chosen);
  for (std::size_t i = start; i + static_cast<std::size_t>(k) <= items.size(); ++i) {
    if (!each_choice(items, k - 1, visit, i + 1, chosen.appended(items[i]))) return false;
  }
  return true;
}

inline double rounded(double x) { return std::round(x * 1000) / 1000; }

inline double standard_deviation(const std::vector<int>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = rounded(std::accumulate(values.begin(), values.end(), 0.0) / n);
  double sum = 0;
  for (const int x : values) sum += (x - mean) * (x - mean);
  return rounded(std::sqrt(sum / n));
}

struct NaiveChoice {
  std::vector<int> nodes;
  std::vector<int> remainder;
};

/// `available[i]`: free CPUs of node i; `sockets[i]`: its socket with align-by-socket, otherwise
/// empty; `aliased`: store slices instead of copies.
inline NaiveChoice naive_best_choice(const std::vector<int>& available,
                                     const std::vector<int>& sockets, int count, int group, int k,
                                     bool aliased) {
  const bool aligned = !sockets.empty();
  const auto remember = [&](const GoSlice& slice) { return aliased ? slice : slice.copy(); };
  const auto at = [](auto& values, int i) -> auto& { return values[static_cast<std::size_t>(i)]; };
  double best = std::numeric_limits<double>::max();
  bool best_in_one_socket = false;
  GoSlice best_nodes;
  GoSlice best_remainder;
  std::vector<int> all(available.size());
  std::iota(all.begin(), all.end(), 0);
  each_choice(all, k, [&](const GoSlice& slice) {
    if (best == 0 && (!aligned || best_in_one_socket)) return false;
    const std::vector<int> nodes = slice.values();
    int share = count / k / group * group;
    for (const int node : nodes) {
      if (aligned) share = std::min(share, at(available, node) / group * group);
    }
    int groups = 0;
    for (const int node : nodes) {
      if (at(available, node) < share) return true;
      groups += at(available, node) / group;
    }
    if (groups * group < count) return true;
    std::vector<int> left = available;
    for (const int node : nodes) at(left, node) -= share;
    std::vector<int> candidates;
    for (const int node : nodes) {
      if (at(left, node) >= group) candidates.push_back(node);
    }
    const int remainder = count - share * k;
    double best_here = std::numeric_limits<double>::max();
    GoSlice best_subset;
    if (remainder == 0) best_here = standard_deviation(left);
    for (int size = static_cast<int>(candidates.size()); remainder > 0 && size >= 1; --size) {
      each_choice(candidates, size, [&](const GoSlice& subset) {
        std::vector<int> after = left;
        int holds = 0;
        for (const int node : subset.values()) holds += at(left, node) / group;
        if (holds * group < remainder) return true;
        for (int rest = remainder; rest > 0;) {
          for (const int node : subset.values()) {
            if (rest == 0) break;
            if (at(after, node) < group) continue;
            at(after, node) -= group;
            rest -= group;
          }
        }
        const double score = standard_deviation(after);
        if (score < best_here) {
          best_here = score;
          best_subset = remember(subset);
        }
        return true;
      });
    }
    bool in_one_socket = aligned;
    for (const int node : nodes) {
      in_one_socket = in_one_socket && at(sockets, node) == at(sockets, nodes.front());
    }
    if (in_one_socket == best_in_one_socket ? best_here < best : in_one_socket) {
      best = best_here;
      best_in_one_socket = in_one_socket;
      best_nodes = remember(slice);
      best_remainder = best_subset;
    }
    return true;
  });
  return {best_nodes.values(), best_remainder.values()};
}

}  // namespace pinfold::test
