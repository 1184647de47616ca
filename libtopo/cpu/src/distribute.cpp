#include <fmt/format.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "accumulator.hpp"

namespace pinfold::cpu {
namespace {

/// Per NUMA node something small; by place in the order of Distribution::nodes.
using Ints = boost::container::small_vector<int, 64>;
using Counts = std::span<const int>;

/// The kubelet's balance score: the population standard deviation, mean and result rounded to
/// three decimals.
double imbalance(const Ints& values) {
  const auto rounded = [](double x) { return std::round(x * 1000) / 1000; };
  const auto count = static_cast<double>(values.size());
  const double mean = rounded(std::accumulate(values.begin(), values.end(), 0.0) / count);
  double sum = 0;
  for (const int value : values) sum += (value - mean) * (value - mean);
  return rounded(std::sqrt(sum / count));
}

enum class Loop { kContinue, kBreak };

/// Calls visit(members) for every choice of k out of n places, in lexicographic order.
template <class Visit>
void for_each_choice(int n, int k, Visit visit) {
  if (k < 1 || k > n) return;
  Ints members(static_cast<std::size_t>(k));
  std::iota(members.begin(), members.end(), 0);
  while (visit(members) == Loop::kContinue) {
    int i = k - 1;
    while (i >= 0 && members[static_cast<std::size_t>(i)] == n - k + i) --i;
    if (i < 0) return;
    int next = ++members[static_cast<std::size_t>(i)];
    while (++i < k) members[static_cast<std::size_t>(i)] = ++next;
  }
}

/// The best choice of a round of for_each_choice.
class Remembered {
 public:
  explicit Remembered(Profile profile) : aliased_(profile == Profile::kKubelet136) {}

  [[nodiscard]] bool empty() const { return members_.empty(); }
  [[nodiscard]] const Ints& members() const { return members_; }

  void set(const Ints& members) { members_ = members; }

  /// To be told of every choice that is enumerated, before it is looked at.
  ///
  /// DEVIATION: the kubelet remembers a slice of the list that it goes on building. The list has a
  /// fresh array whenever a 1st, 2nd, 3rd, 5th, 9th, ... member is added, and every other member is
  /// written in place: so a remembered choice changes under its owner's hands when a later one
  /// shares the members up to the last of those. The profile kubelet-1.36 does the same; fixed
  /// remembers a copy.
  void enumerated(const Ints& members) {
    if (!aliased_ || members_.size() != members.size()) return;
    std::size_t fresh = 1;
    for (std::size_t next = 2; next <= members.size(); next = 2 * next - 1) fresh = next;
    if (std::equal(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(fresh),
                   members_.begin())) {
      members_ = members;
    }
  }

 private:
  bool aliased_;
  Ints members_;
};

/// One request to be spread over NUMA nodes.
struct Distribution {
  Profile profile;
  int count = 0;    ///< CPUs in all
  int group = 1;    ///< CPUs that stay together
  GroupList nodes;  ///< NUMA nodes with free CPUs, in the order of enumeration
  Ints available;   ///< free CPUs of each of them
};

struct Choice {
  double score = std::numeric_limits<double>::max();
  Ints nodes;      ///< places in Distribution::nodes
  Ints remainder;  ///< the ones that give a group more
};

/// What each node gets before the remainder.
int even_share(const Distribution& d, std::size_t nodes) {
  return d.count / static_cast<int>(nodes) / d.group * d.group;
}

bool can_hold(const Distribution& d, const Ints& nodes) {
  const int share = even_share(d, nodes.size());
  std::int64_t groups = 0;
  for (const int node : nodes) {
    const int available = d.available[static_cast<std::size_t>(node)];
    if (available < share) return false;
    groups += available / d.group;
  }
  return groups * d.group >= d.count;
}

/// Takes `remainder` CPUs from the nodes in turn, a group at a time; false if they do not hold it.
bool take_in_turn(const Distribution& d, const Ints& candidates, const Ints& subset, int remainder,
                  Ints& left) {
  std::int64_t groups = 0;
  for (const int place : subset) {
    groups += left[static_cast<std::size_t>(candidates[static_cast<std::size_t>(place)])] / d.group;
  }
  if (groups * d.group < remainder) return false;
  while (remainder > 0) {
    for (const int place : subset) {
      int& free = left[static_cast<std::size_t>(candidates[static_cast<std::size_t>(place)])];
      if (remainder == 0) break;
      if (free < d.group) continue;
      free -= d.group;
      remainder -= d.group;
    }
  }
  return true;
}

/// The score of a combination of nodes, with the best place for the remainder.
Choice judge(const Distribution& d, const Ints& nodes) {
  const int share = even_share(d, nodes.size());
  const int remainder = d.count - share * static_cast<int>(nodes.size());
  Ints left = d.available;
  Ints candidates;
  for (const int node : nodes) {
    int& free = left[static_cast<std::size_t>(node)];
    free -= share;
    if (free >= d.group) candidates.push_back(node);
  }
  Choice choice;
  choice.nodes = nodes;
  if (remainder == 0) {
    choice.score = imbalance(left);
    return choice;
  }
  // As many nodes as possible first: that keeps the remainder spread, too.
  for (int k = static_cast<int>(candidates.size()); k >= 1; --k) {
    Remembered best(d.profile);
    for_each_choice(static_cast<int>(candidates.size()), k, [&](const Ints& subset) {
      best.enumerated(subset);
      Ints after = left;
      if (!take_in_turn(d, candidates, subset, remainder, after)) return Loop::kContinue;
      const double score = imbalance(after);
      if (score < choice.score) {
        choice.score = score;
        best.set(subset);
      }
      return Loop::kContinue;
    });
    if (best.empty()) continue;
    choice.remainder.clear();
    for (const int place : best.members()) {
      choice.remainder.push_back(candidates[static_cast<std::size_t>(place)]);
    }
  }
  return choice;
}

/// The best combination of `k` nodes; no nodes if none can hold the request.
Choice best_of(const Distribution& d, int k) {
  Choice best;
  Remembered nodes(d.profile);
  for_each_choice(static_cast<int>(d.nodes.size()), k, [&](const Ints& combination) {
    nodes.enumerated(combination);
    if (best.score == 0) return Loop::kBreak;
    if (!can_hold(d, combination)) return Loop::kContinue;
    Choice choice = judge(d, combination);
    if (choice.score < best.score) {
      best = std::move(choice);
      nodes.set(combination);
    }
    return Loop::kContinue;
  });
  best.nodes = nodes.members();
  return best;
}

/// Takes the chosen shares; each node packs what is asked of it.
Taken take_choice(const TakeRules& rules, const Distribution& d, const Choice& choice,
                  const CpuSet& available, Phrases* phrases) {
  const Machine& machine = rules.hierarchy->machine();
  TakeRules packed = rules;
  packed.by_uncore_cache = false;
  Accumulator accumulator(rules, available, d.count, nullptr);
  const auto free_on = [&](int place) {
    return accumulator.free() & machine.cpus_of_numa(d.nodes[static_cast<std::size_t>(place)]);
  };
  const auto take_from = [&](int place, int count) {
    // A node that does not have enough gives nothing; the final check finds it.
    const auto taken = take_packed(packed, free_on(place), count, nullptr);
    if (taken) accumulator.take(*taken);
    return taken.has_value();
  };
  const int share = even_share(d, choice.nodes.size());
  for (const int place : choice.nodes) take_from(place, share);
  int remainder = d.count - share * static_cast<int>(choice.nodes.size());
  for (bool progress = true; remainder > 0 && progress;) {
    progress = false;
    for (const int place : choice.remainder) {
      if (remainder == 0) break;
      if (static_cast<int>(free_on(place).size()) < d.group) continue;
      take_from(place, d.group);
      remainder -= d.group;
      progress = true;
    }
  }
  if (accumulator.needed() > 0) {
    return tl::unexpected(fmt::format("accounting error, not enough CPUs allocated, remaining: {}",
                                      accumulator.needed()));
  }
  if (phrases != nullptr) {
    for (const int place : choice.nodes) {
      const int node = d.nodes[static_cast<std::size_t>(place)];
      phrases->push_back(
          fmt::format("from NUMA node {} CPUs {}", machine.numa_id(node).value,
                      (accumulator.result() & machine.cpus_of_numa(node)).to_string()));
    }
  }
  return accumulator.result();
}

}  // namespace

Taken take_across_numa(const TakeRules& rules, const CpuSet& available, int count,
                       Phrases* phrases) {
  const int group = rules.numa_group_size;
  if (count < 1) return CpuSet{};
  if (count % group != 0) return take_packed(rules, available, count, phrases);
  if (count > static_cast<int>(available.size()))
    return tl::unexpected(not_enough(count, available));

  const Machine& machine = rules.hierarchy->machine();
  Distribution d{rules.profile, count, group, rules.hierarchy->sorted(Level::kNuma, available), {}};
  for (const std::int32_t node : d.nodes) {
    d.available.push_back(static_cast<int>(available.count_common(machine.cpus_of_numa(node))));
  }
  const auto divided_up = [](int a, int b) { return (a - 1) / b + 1; };
  const int groups = divided_up(static_cast<int>(machine.cpus().size()), group);
  const int groups_needed = divided_up(count, group);
  const int fewest = divided_up(groups_needed, divided_up(groups, machine.numa_with_cpus()));
  const int most = std::min(groups_needed, static_cast<int>(d.nodes.size()));
  for (int k = fewest; k <= most; ++k) {
    const Choice choice = best_of(d, k);
    if (!choice.nodes.empty()) return take_choice(rules, d, choice, available, phrases);
  }
  return take_packed(rules, available, count, phrases);
}

}  // namespace pinfold::cpu
