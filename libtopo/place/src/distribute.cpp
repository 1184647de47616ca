#include "distribute.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "pinfold/types/choices.hpp"

// How it works
//
// The task is to take `count` CPUs from exactly k NUMA nodes so that the free CPUs that remain are
// spread as evenly as possible over all NUMA nodes. The result must be the kubelet's, which tries
// every combination, so the order among equally good ones matters, too.
//   1. first_best() enumerates the combinations of k NUMA nodes in the kubelet's order. Every node
//      gives the same share in whole groups; can_hold() drops combinations with too few CPUs.
//   2. place_remainder() searches for the nodes of the combination that give the groups left over,
//      one group each in turn. It tries all subsets, those with the most nodes first.
//   3. The score is the standard deviation of what remains, rounded to three decimals like the
//      kubelet's. Only a strictly better score replaces the best one.
//
// Invariants: all distributions of a request leave the same sum, so less in the sum of squares
// never means a higher score; the search compares these integers and computes few scores.
// least_squares() is a lower bound for all subsets: a combination is skipped if the bound does not
// beat the best score, and a subset that reaches the bound ends the enumeration.
//
// Complexity: C(n, k) combinations with at most 2^k subsets each. With more than kMaxCombinations
// combinations, or k > kMaxSubsetNodes, fullest() sorts the NUMA nodes instead.

namespace pinfold::place {
namespace {

/// Beyond this many combinations, or NUMA nodes in a subset, nothing is enumerated.
constexpr double kMaxCombinations = 20'000;
constexpr std::size_t kMaxSubsetNodes = 16;

double choices(int n, int k) {
  double count = 1;
  for (int i = 1; i <= k; ++i) count = count * (n - k + i) / i;
  return count;
}

/// The best choice of an enumeration so far.
///
/// QUIRK best_numa_combination_overwritten: the kubelet keeps a Go slice of the list
/// that it continues to extend. Adding a 1st, 2nd, 3rd, 5th, 9th, ... member copies the list to a
/// new array; every other member is written in place. So a later choice overwrites the kept one if
/// both have the same members up to the last copy. Without the quirk, a copy is kept.
class BestChoice {
 public:
  explicit BestChoice(bool is_overwritten) : is_overwritten_(is_overwritten) {}

  [[nodiscard]] bool empty() const { return members_.empty(); }
  [[nodiscard]] const Ints& members() const { return members_; }

  void set(std::span<const int> members) { members_.assign(members.begin(), members.end()); }

  /// Call this for every enumerated choice before it is evaluated.
  void enumerated(std::span<const int> members) {
    if (!is_overwritten_ || members_.empty()) return;
    const auto kept = static_cast<std::ptrdiff_t>(untouched());
    if (std::equal(members.begin(), members.begin() + kept, members_.begin())) set(members);
  }

  /// Call this at the end of an enumeration over n places instead of enumerated(): the last choice
  /// with the same first members ends with the last places.
  void enumeration_completed(int n) {
    if (!is_overwritten_) return;
    for (std::size_t i = untouched(); i < members_.size(); ++i) {
      members_[i] = n - static_cast<int>(members_.size() - i);
    }
  }

 private:
  /// Returns the number of leading members that no later choice overwrites.
  [[nodiscard]] std::size_t untouched() const {
    std::size_t last_copy = 1;
    for (std::size_t next = 2; next <= members_.size(); next = 2 * next - 1) last_copy = next;
    return last_copy;
  }

  bool is_overwritten_;
  Ints members_;
};

/// How unbalanced a distribution leaves the machine; lower is better. All distributions of one
/// request leave the same sum, so their scores are ordered like their sums of squares, except for
/// rounding.
struct Score {
  std::int64_t squares = std::numeric_limits<std::int64_t>::max();
  /// The kubelet's balance score, in thousandths: the population standard deviation, with mean
  /// and result rounded to three decimals.
  std::int64_t rounded = std::numeric_limits<std::int64_t>::max();
};

Score score_of(const NumaDistribution& d, std::int64_t squares) {
  const auto n = static_cast<std::int64_t>(d.available.size());
  const std::int64_t sum = std::accumulate(d.available.begin(), d.available.end(), 0LL) - d.count;
  const std::int64_t mean = (2000 * sum + n) / (2 * n);
  const std::int64_t spread = 1'000'000 * squares - 2000 * mean * sum + n * mean * mean;
  return {squares, std::llround(std::sqrt(static_cast<double>(spread) / static_cast<double>(n)))};
}

std::int64_t squares_of(const Ints& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0},
                         [](std::int64_t sum, std::int64_t x) { return sum + x * x; });
}

/// Returns the decrease of the sum of squares when `count` is taken from `from`.
std::int64_t drop(std::int64_t from, std::int64_t count) { return count * (2 * from - count); }

/// Returns the share that the search assumes.
int assumed_share(const NumaDistribution& d, std::span<const int> nodes) {
  return d.within_socket ? cut_share(d, nodes) : even_share(d, nodes.size());
}

bool in_one_socket(const NumaDistribution& d, std::span<const int> nodes) {
  const auto socket_of = [&](int node) { return d.sockets[static_cast<std::size_t>(node)]; };
  const int first = socket_of(nodes.front());
  return first != -1 && std::all_of(nodes.begin(), nodes.end(),
                                    [&](int node) { return socket_of(node) == first; });
}

/// Returns how many CPUs a NUMA node keeps in excess of its share.
int excess(const NumaDistribution& d, int node, int share) {
  return d.kept.empty() ? 0 : std::max(d.kept[static_cast<std::size_t>(node)] - share, 0);
}

/// Returns whether a combination contains all NUMA nodes with kept CPUs, and what these keep leaves
/// a remainder of whole groups.
bool has_all_kept(const NumaDistribution& d, std::span<const int> nodes) {
  if (d.kept.empty()) return true;
  const int share = assumed_share(d, nodes);
  int left = d.count - share * static_cast<int>(nodes.size());
  std::size_t with_kept = 0;
  for (const int node : nodes) {
    with_kept += d.kept[static_cast<std::size_t>(node)] > 0 ? 1 : 0;
    left -= excess(d, node, share);
  }
  const auto all = std::count_if(d.kept.begin(), d.kept.end(), [](int kept) { return kept > 0; });
  return left >= 0 && left % d.group == 0 && with_kept == static_cast<std::size_t>(all);
}

/// Returns whether the NUMA nodes have enough. Like the kubelet, counts free CPUs once, but groups
/// as often as a NUMA node is listed.
bool can_hold(const NumaDistribution& d, std::span<const int> nodes) {
  if (!has_all_kept(d, nodes)) return false;
  const int share = assumed_share(d, nodes);
  std::int64_t groups = 0;
  std::int64_t cpus = 0;
  for (auto node = nodes.begin(); node != nodes.end(); ++node) {
    const int available = d.available[static_cast<std::size_t>(*node)];
    if (available < share) return false;
    groups += available / d.group;
    if (std::find(nodes.begin(), node, *node) == node) cpus += available;
  }
  return groups * d.group >= d.count && cpus >= d.count;
}

/// What a combination has left for the remainder, after the even shares.
// clang-tidy 14 takes the implicit move operations for throwing ones.
// NOLINTNEXTLINE(bugprone-exception-escape)
struct Rest {
  int groups = 0;            ///< groups still needed
  Ints candidates;           ///< NUMA nodes that have a group left
  Ints left;                 ///< CPUs left on each NUMA node
  std::int64_t squares = 0;  ///< over all NUMA nodes, before the remainder is taken
};

Rest rest_of(const NumaDistribution& d, std::span<const int> nodes, std::int64_t squares) {
  const int share = assumed_share(d, nodes);
  Rest rest;
  rest.squares = squares;
  int missing = d.count;
  rest.left = d.available;
  for (const int node : nodes) {
    const int given = share + excess(d, node, share);
    int& left = rest.left[static_cast<std::size_t>(node)];
    rest.squares -= drop(left, given);
    left -= given;
    missing -= given;
  }
  rest.groups = missing / d.group;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(rest.candidates),
               [&](int node) { return rest.left[static_cast<std::size_t>(node)] >= d.group; });
  return rest;
}

/// Returns the least sum of squares that any way to take the remainder can leave: always from the
/// fullest node.
std::int64_t least_squares(const NumaDistribution& d, const Rest& rest) {
  Ints left = rest.left;
  std::int64_t squares = rest.squares;
  for (int i = 0; i < rest.groups && !rest.candidates.empty(); ++i) {
    const int node =
        *std::max_element(rest.candidates.begin(), rest.candidates.end(), [&](int a, int b) {
          return left[static_cast<std::size_t>(a)] < left[static_cast<std::size_t>(b)];
        });
    int& fullest = left[static_cast<std::size_t>(node)];
    squares -= drop(fullest, d.group);
    fullest -= d.group;
  }
  return squares;
}

/// Returns the sum of squares after taking the remainder from a subset of the candidates in turn;
/// nullopt if they have too few CPUs.
std::optional<std::int64_t> take_in_turn(const NumaDistribution& d, const Rest& rest,
                                         std::span<const int> subset) {
  Ints left = rest.left;
  std::int64_t squares = rest.squares;
  int groups = rest.groups;
  for (bool progress = true; groups > 0 && progress;) {
    progress = false;
    for (const int place : subset) {
      int& of_node =
          left[static_cast<std::size_t>(rest.candidates[static_cast<std::size_t>(place)])];
      if (groups == 0) break;
      if (of_node < d.group) continue;
      squares -= drop(of_node, d.group);
      of_node -= d.group;
      --groups;
      progress = true;
    }
  }
  return groups > 0 ? std::nullopt : std::optional(squares);
}

/// Searches for NUMA nodes that can give the remainder with a score lower than `best`; updates
/// `best`. Returns nullopt if there are none.
std::optional<Ints> place_remainder(const NumaDistribution& d, const Rest& rest, Score& best) {
  const std::int64_t least = least_squares(d, rest);
  if (least >= best.squares || score_of(d, least).rounded >= best.rounded) return std::nullopt;
  const auto n = static_cast<int>(rest.candidates.size());
  std::optional<Ints> found;
  // Most NUMA nodes first, so that the remainder is spread, too.
  for (int k = n; k >= 1 && best.squares > least; --k) {
    BestChoice best_subset(d.best_combination_overwritten);
    for_each_choice(n, k, [&](std::span<const int> subset) {
      const auto squares = take_in_turn(d, rest, subset);
      if (!squares || *squares >= best.squares) return Enumeration::kContinue;
      const Score score = score_of(d, *squares);
      if (score.rounded < best.rounded) {
        best = score;
        best_subset.set(subset);
      }
      return *squares == least ? Enumeration::kStop
                               : Enumeration::kContinue;  // nothing can be better
    });
    if (best_subset.empty()) continue;
    best_subset.enumeration_completed(n);
    found.emplace();
    for (const int place : best_subset.members()) {
      found->push_back(rest.candidates[static_cast<std::size_t>(place)]);
    }
  }
  return found;
}

/// Returns the combination of k NUMA nodes that the kubelet finds: the first one with the best
/// score. With within_socket, combinations in one socket beat all others.
NumaChoice first_best(const NumaDistribution& d, int k) {
  const std::int64_t squares = squares_of(d.available);
  NumaChoice best;
  Score score;
  bool is_within = false;  // whether the best one so far is in one socket
  BestChoice best_places(d.best_combination_overwritten);
  Ints chosen(static_cast<std::size_t>(k));
  const std::span<const int> combination(chosen.data(), chosen.size());
  const auto node_at = [&](int place) { return d.order[static_cast<std::size_t>(place)]; };
  for_each_choice(static_cast<int>(d.order.size()), k, [&](std::span<const int> of_places) {
    best_places.enumerated(of_places);
    if (score.rounded == 0 && is_within == d.within_socket) return Enumeration::kStop;
    std::transform(of_places.begin(), of_places.end(), chosen.begin(), node_at);
    const bool within = d.within_socket && in_one_socket(d, combination);
    if (is_within && !within) return Enumeration::kContinue;
    if (!can_hold(d, combination)) return Enumeration::kContinue;
    const Rest rest = rest_of(d, combination, squares);
    Score to_beat = within == is_within ? score : Score{};
    if (rest.groups > 0) {
      auto remainder = place_remainder(d, rest, to_beat);
      if (!remainder) return Enumeration::kContinue;
      best.remainder = std::move(*remainder);
    } else {
      if (rest.squares >= to_beat.squares) return Enumeration::kContinue;
      const Score better = score_of(d, rest.squares);
      if (better.rounded >= to_beat.rounded) return Enumeration::kContinue;
      to_beat = better;
      best.remainder.clear();
    }
    score = to_beat;
    is_within = within;
    best_places.set(of_places);
    return Enumeration::kContinue;
  });
  const Ints& members = best_places.members();
  std::transform(members.begin(), members.end(), std::back_inserter(best.nodes), node_at);
  return best;
}

/// Returns the `count` candidates with the greatest values, in ascending order; among equal values
/// the first ones.
Ints greatest(const Ints& values, Ints candidates, std::size_t count) {
  std::stable_sort(candidates.begin(), candidates.end(), [&](int a, int b) {
    return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
  });
  candidates.resize(std::min(count, candidates.size()));
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

Ints places(std::size_t count) {
  Ints all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Returns the combination of k of the NUMA nodes that leaves the least sum of squares, without a
/// search: those with the most free CPUs give the shares, and those of them with the most left give
/// the remainder.
NumaChoice fullest(const NumaDistribution& d, int k, const Ints& of) {
  NumaChoice choice;
  choice.nodes = greatest(d.available, of, static_cast<std::size_t>(k));
  const std::span<const int> nodes(choice.nodes.data(), choice.nodes.size());
  if (static_cast<int>(nodes.size()) < k || !can_hold(d, nodes)) return {};
  const Rest rest = rest_of(d, nodes, 0);
  choice.remainder = greatest(rest.left, rest.candidates, static_cast<std::size_t>(rest.groups));
  return choice;
}

/// Like above; with within_socket, prefers the first socket with enough CPUs.
NumaChoice fullest(const NumaDistribution& d, int k) {
  const int sockets = d.sockets.empty() ? 0 : *std::max_element(d.sockets.begin(), d.sockets.end());
  for (int socket = 0; d.within_socket && socket <= sockets; ++socket) {
    Ints inside;
    for (std::size_t i = 0; i < d.sockets.size(); ++i) {
      if (d.sockets[i] == socket) inside.push_back(static_cast<int>(i));
    }
    NumaChoice choice = fullest(d, k, inside);
    if (!choice.nodes.empty()) return choice;
  }
  return fullest(d, k, places(d.nodes.size()));
}

}  // namespace

int even_share(const NumaDistribution& d, std::size_t nodes) {
  return d.count / static_cast<int>(nodes) / d.group * d.group;
}

int cut_share(const NumaDistribution& d, std::span<const int> nodes) {
  int share = even_share(d, nodes.size());
  for (const int node : nodes) {
    share = std::min(share, d.available[static_cast<std::size_t>(node)] / d.group * d.group);
  }
  return share;
}

NumaChoice best_choice(const NumaDistribution& d, int k) {
  // DIFFERENCE: with very many combinations the kubelet would need minutes to years. All profiles
  // then use the choice that is best before the score is rounded.
  const bool too_many = choices(static_cast<int>(d.order.size()), k) > kMaxCombinations ||
                        static_cast<std::size_t>(k) > kMaxSubsetNodes;
  return too_many ? fullest(d, k) : first_best(d, k);
}

}  // namespace pinfold::place
