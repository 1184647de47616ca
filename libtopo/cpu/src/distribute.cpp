#include "distribute.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "pinfold/types/choices.hpp"

namespace pinfold::cpu {
namespace {

/// More combinations than this are not enumerated.
constexpr double kMaxCombinations = 20'000;
/// Nor are the subsets of more nodes than this.
constexpr std::size_t kMaxSubsetNodes = 16;

double choices(int n, int k) {
  double count = 1;
  for (int i = 1; i <= k; ++i) count = count * (n - k + i) / i;
  return count;
}

/// The best choice so far of a round of for_each_choice.
///
/// DEVIATION: the kubelet remembers a slice of the list that it goes on building. The list has a
/// fresh array whenever a 1st, 2nd, 3rd, 5th, 9th, ... member is added, and every other member is
/// written in place: so a remembered choice changes under its owner's hands when a later one
/// shares the members up to the last of those. The profile kubelet-1.36 does the same; fixed
/// remembers a copy.
class Remembered {
 public:
  explicit Remembered(Profile profile) : aliased_(profile == Profile::kKubelet136) {}

  [[nodiscard]] bool empty() const { return members_.empty(); }
  [[nodiscard]] const Ints& members() const { return members_; }

  void set(std::span<const int> members) { members_.assign(members.begin(), members.end()); }

  /// To be told of every choice that is enumerated, before it is looked at.
  void enumerated(std::span<const int> members) {
    if (!aliased_ || members_.empty()) return;
    const auto kept = static_cast<std::ptrdiff_t>(untouched());
    if (std::equal(members.begin(), members.begin() + kept, members_.begin())) set(members);
  }

  /// Instead of being told of all the rest of a round over n places: the last choice with the same
  /// first members ends with the last places.
  void round_completed(int n) {
    if (!aliased_) return;
    for (std::size_t i = untouched(); i < members_.size(); ++i) {
      members_[i] = n - static_cast<int>(members_.size() - i);
    }
  }

 private:
  /// The number of first members that no later choice overwrites.
  [[nodiscard]] std::size_t untouched() const {
    std::size_t fresh = 1;
    for (std::size_t next = 2; next <= members_.size(); next = 2 * next - 1) fresh = next;
    return fresh;
  }

  bool aliased_;
  Ints members_;
};

/// How uneven a distribution leaves the machine; less is better. All distributions of one request
/// leave the same sum, so their scores are in the order of their sums of squares, up to rounding.
struct Score {
  std::int64_t squares = std::numeric_limits<std::int64_t>::max();
  /// The kubelet's balance score, in thousandths: the population standard deviation, with mean
  /// and result rounded to three decimals.
  std::int64_t rounded = std::numeric_limits<std::int64_t>::max();
};

Score score_of(const Distribution& d, std::int64_t squares) {
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

/// By how much the sum of squares falls when `count` is taken from `from`.
std::int64_t drop(std::int64_t from, std::int64_t count) { return count * (2 * from - count); }

bool can_hold(const Distribution& d, std::span<const int> nodes) {
  const int share = even_share(d, nodes.size());
  std::int64_t groups = 0;
  for (const int node : nodes) {
    const int available = d.available[static_cast<std::size_t>(node)];
    if (available < share) return false;
    groups += available / d.group;
  }
  return groups * d.group >= d.count;
}

/// What a combination has after the even shares: where the remainder may come from.
// clang-tidy 14 takes the implicit move operations for throwing ones.
// NOLINTNEXTLINE(bugprone-exception-escape)
struct Rest {
  int groups = 0;            ///< groups still to be taken
  Ints candidates;           ///< nodes that have a group left
  Ints left;                 ///< CPUs left on each candidate
  std::int64_t squares = 0;  ///< of all nodes of the machine, before the remainder is taken
};

Rest rest_of(const Distribution& d, std::span<const int> nodes, std::int64_t squares) {
  const int share = even_share(d, nodes.size());
  Rest rest;
  rest.squares = squares;
  rest.groups = (d.count - share * static_cast<int>(nodes.size())) / d.group;
  for (const int node : nodes) {
    const int available = d.available[static_cast<std::size_t>(node)];
    rest.squares -= drop(available, share);
    if (available - share < d.group) continue;
    rest.candidates.push_back(node);
    rest.left.push_back(available - share);
  }
  return rest;
}

/// The least sum of squares that any way to take the remainder leaves: always from the fullest.
std::int64_t least_squares(const Distribution& d, const Rest& rest) {
  Ints left = rest.left;
  std::int64_t squares = rest.squares;
  for (int i = 0; i < rest.groups; ++i) {
    int& fullest = *std::max_element(left.begin(), left.end());
    squares -= drop(fullest, d.group);
    fullest -= d.group;
  }
  return squares;
}

/// Takes the remainder from a subset of the candidates in turn; the sum of squares afterwards, or
/// nothing if they do not hold it.
std::optional<std::int64_t> take_in_turn(const Distribution& d, const Rest& rest,
                                         std::span<const int> subset) {
  int holds = 0;
  for (const int place : subset) holds += rest.left[static_cast<std::size_t>(place)] / d.group;
  if (holds < rest.groups) return std::nullopt;
  std::int64_t squares = rest.squares;
  int groups = rest.groups;
  for (int taken = 0; groups > 0; taken += d.group) {
    for (const int place : subset) {
      const int left = rest.left[static_cast<std::size_t>(place)] - taken;
      if (groups == 0) break;
      if (left < d.group) continue;
      squares -= drop(left, d.group);
      --groups;
    }
  }
  return squares;
}

/// Looks for the nodes that give the remainder so that the score is less than `best`; updates it
/// and returns them if there are any.
std::optional<Ints> place_remainder(const Distribution& d, const Rest& rest, Score& best) {
  const std::int64_t least = least_squares(d, rest);
  if (least >= best.squares || score_of(d, least).rounded >= best.rounded) return std::nullopt;
  const auto n = static_cast<int>(rest.candidates.size());
  std::optional<Ints> found;
  // As many nodes as possible first: that keeps the remainder spread, too.
  for (int k = n; k >= 1 && best.squares > least; --k) {
    Remembered subset_of_round(d.profile);
    for_each_choice(n, k, [&](std::span<const int> subset) {
      const auto squares = take_in_turn(d, rest, subset);
      if (!squares || *squares >= best.squares) return Enumeration::kContinue;
      const Score score = score_of(d, *squares);
      if (score.rounded < best.rounded) {
        best = score;
        subset_of_round.set(subset);
      }
      return *squares == least ? Enumeration::kStop
                               : Enumeration::kContinue;  // nothing can be better
    });
    if (subset_of_round.empty()) continue;
    subset_of_round.round_completed(n);
    found.emplace();
    for (const int place : subset_of_round.members()) {
      found->push_back(rest.candidates[static_cast<std::size_t>(place)]);
    }
  }
  return found;
}

/// The best combination of k nodes as the kubelet finds it: the first of the best scores.
Choice first_best(const Distribution& d, int k) {
  const std::int64_t squares = squares_of(d.available);
  Choice best;
  Score score;
  Remembered nodes(d.profile);
  for_each_choice(static_cast<int>(d.nodes.size()), k, [&](std::span<const int> combination) {
    nodes.enumerated(combination);
    if (score.rounded == 0) return Enumeration::kStop;
    if (!can_hold(d, combination)) return Enumeration::kContinue;
    const Rest rest = rest_of(d, combination, squares);
    if (rest.groups > 0) {
      auto remainder = place_remainder(d, rest, score);
      if (!remainder) return Enumeration::kContinue;
      best.remainder = std::move(*remainder);
    } else {
      if (rest.squares >= score.squares) return Enumeration::kContinue;
      const Score better = score_of(d, rest.squares);
      if (better.rounded >= score.rounded) return Enumeration::kContinue;
      score = better;
      best.remainder.clear();
    }
    nodes.set(combination);
    return Enumeration::kContinue;
  });
  best.nodes = nodes.members();
  return best;
}

/// The `count` places with the greatest values, of equal ones the first, in ascending order.
Ints greatest(const Ints& values, std::size_t count) {
  Ints places(values.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](int a, int b) {
    return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
  });
  places.resize(std::min(count, places.size()));
  std::sort(places.begin(), places.end());
  return places;
}

/// The combination of k nodes that leaves the least sum of squares, without a search: the nodes
/// with the most free CPUs give the shares, and of these the ones with the most give more.
Choice fullest(const Distribution& d, int k) {
  Choice choice;
  choice.nodes = greatest(d.available, static_cast<std::size_t>(k));
  const std::span<const int> nodes(choice.nodes.data(), choice.nodes.size());
  if (!can_hold(d, nodes)) return {};
  const Rest rest = rest_of(d, nodes, 0);
  for (const int place : greatest(rest.left, static_cast<std::size_t>(rest.groups))) {
    choice.remainder.push_back(rest.candidates[static_cast<std::size_t>(place)]);
  }
  return choice;
}

}  // namespace

int even_share(const Distribution& d, std::size_t nodes) {
  return d.count / static_cast<int>(nodes) / d.group * d.group;
}

Choice best_choice(const Distribution& d, int k) {
  // DEVIATION: with very many combinations the kubelet would take minutes to years. There both
  // profiles take the choice that is best before the score is rounded.
  const bool too_many = choices(static_cast<int>(d.nodes.size()), k) > kMaxCombinations ||
                        static_cast<std::size_t>(k) > kMaxSubsetNodes;
  return too_many ? fullest(d, k) : first_best(d, k);
}

}  // namespace pinfold::cpu
