#pragma once

#include <array>
#include <cstddef>
#include <numeric>
#include <span>

namespace pinfold {

/// A visitor's answer: continue the enumeration or stop it.
enum class Enumeration { kContinue, kStop };

/// Calls visit(std::span<const int> members) for every subset of k of the numbers 0 to n - 1, in
/// lexicographic order, until it returns kStop. Members are in ascending order. Visits nothing
/// unless 1 <= k <= n. Domain: k <= 64.
template <class Visit>
void for_each_choice(int n, int k, Visit&& visit) {
  constexpr std::size_t kMaxMembers = 64;
  if (k < 1 || k > n) return;
  std::array<int, kMaxMembers> storage;  // NOLINT: only the filled part is read
  const std::span<int> members(storage.data(), static_cast<std::size_t>(k));
  std::iota(members.begin(), members.end(), 0);
  while (visit(std::span<const int>(members)) == Enumeration::kContinue) {
    int i = k - 1;
    while (i >= 0 && members[static_cast<std::size_t>(i)] == n - k + i) --i;
    if (i < 0) return;
    int next = ++members[static_cast<std::size_t>(i)];
    while (++i < k) members[static_cast<std::size_t>(i)] = ++next;
  }
}

}  // namespace pinfold
