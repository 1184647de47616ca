#include "pinfold/forecast/forecast.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "steady_fall.hpp"

// How it works
//
// The available memory of a set of NUMA nodes is a series; steady_fall() returns its rate. The time
// is the rest divided by that rate, except that a group stops growing at its memory limit: from
// then on the rest is used up without it, or never.
//
// The growth of a group is the difference between its last two readings. It need not be steady,
// because groups are only read while a NUMA node falls steadily.

namespace pinfold::forecast {
namespace {

using enforce::NodeSet;

double seconds_of(std::chrono::nanoseconds time) { return Seconds(time).count(); }

/// Returns the samples that count.
std::span<const MemorySample> recent(std::span<const MemorySample> samples) {
  const auto is_old = [&](const MemorySample& sample) {
    return Seconds(samples.back().at - sample.at) > kWindow;
  };
  const auto first = std::find_if_not(samples.begin(), samples.end(), is_old);
  const auto in_window = static_cast<std::size_t>(samples.end() - first);
  return samples.last(std::min(samples.size(), std::max(in_window, kLeastSamples)));
}

std::uint64_t available_in(const MemorySample& sample, const NodeSet& nodes) {
  std::uint64_t sum = 0;
  for (const NumaMemory& numa : sample.numa) {
    if (nodes.contains(CpuId{numa.numa.value})) sum += numa.available;
  }
  return sum;
}

std::optional<double> fall_of(std::span<const MemorySample> samples, const NodeSet& nodes) {
  if (samples.size() < kLeastSamples) return std::nullopt;
  std::vector<Point> points;
  for (const MemorySample& sample : recent(samples)) {
    points.push_back({seconds_of(sample.at), static_cast<double>(available_in(sample, nodes))});
  }
  return steady_fall(points);
}

NodeSet nodes_of(const MemorySample& sample) {
  NodeSet nodes;
  for (const NumaMemory& numa : sample.numa) nodes.insert(CpuId{numa.numa.value});
  return nodes;
}

double in_use_on(const GroupMemory& group, const NodeSet& nodes) {
  double sum = 0;
  for (const auto& [node, bytes] : group.in_use) {
    if (nodes.contains(CpuId{node})) sum += static_cast<double>(bytes);
  }
  return sum;
}

/// The groups of the last sample, and how they have changed since the sample before it.
class Growth {
 public:
  explicit Growth(std::span<const MemorySample> samples) : last_(samples.back()) {
    if (samples.size() < 2) return;
    const MemorySample& before = samples[samples.size() - 2];
    seconds_ = seconds_of(last_.at - before.at);
    for (const GroupMemory& group : before.groups) before_.emplace(group.directory, &group);
    for (const GroupMemory& group : last_.groups) note_limit(group);
  }

  /// Returns bytes per second on these NUMA nodes; 0 if it was not read before, or shrinks.
  [[nodiscard]] double of(const GroupMemory& group, const NodeSet& nodes) const {
    const auto found = before_.find(group.directory);
    if (found == before_.end() || seconds_ <= 0) return 0;
    return std::max(0.0, (in_use_on(group, nodes) - in_use_on(*found->second, nodes)) / seconds_);
  }

  /// The forecast of a group that reaches its limit within the horizon, by directory.
  [[nodiscard]] const std::map<std::string, Forecast>& limits() const { return limits_; }

  /// Returns the time after which a group cannot grow, because it or one above it is at its limit.
  [[nodiscard]] std::optional<double> end_of(const GroupMemory& group) const {
    std::optional<double> end;
    for (const auto& [directory, limit] : limits_) {
      if (!(group.directory + "/").starts_with(directory + "/")) continue;
      end = std::min(end.value_or(limit.in.count()), limit.in.count());
    }
    return end;
  }

 private:
  void note_limit(const GroupMemory& group) {
    if (!group.limit) return;
    const NodeSet nodes = nodes_of(last_);
    const double rate = of(group, nodes);
    const double left = std::max(0.0, static_cast<double>(*group.limit) - in_use_on(group, nodes));
    if (rate <= 0 || left > rate * kHorizon.count()) return;
    limits_[group.directory] = {Forecast::Kind::kLimit, {}, group.label, Seconds(left / rate), rate,
                                *group.limit,           {}, {}};
  }

  const MemorySample& last_;
  double seconds_ = 0;
  std::map<std::string, const GroupMemory*> before_;
  std::map<std::string, Forecast> limits_;
};

/// Forecasts for sets of NUMA nodes.
class NumaForecaster {
 public:
  explicit NumaForecaster(std::span<const MemorySample> samples)
      : samples_(samples), last_(samples.back()), growth_(samples) {}

  [[nodiscard]] std::vector<Forecast> forecasts() const {
    std::vector<Forecast> all;
    for (const NodeSet& nodes : sets()) {
      if (auto one = forecast_of(nodes)) all.push_back(*std::move(one));
    }
    add_limits(all);
    std::stable_sort(all.begin(), all.end(),
                     [](const Forecast& a, const Forecast& b) { return a.in < b.in; });
    std::vector<Forecast> first;
    for (Forecast& one : all) {
      if (!follows_from(first, one)) first.push_back(std::move(one));
    }
    return first;
  }

 private:
  /// Returns the sets of NUMA nodes that can run out: those to which a group is bound, and all.
  [[nodiscard]] std::vector<NodeSet> sets() const {
    const NodeSet all = nodes_of(last_);
    std::map<std::string, NodeSet> sets = {{all.to_string(), all}};
    for (const GroupMemory& group : last_.groups) {
      const NodeSet nodes = group.mems & all;
      if (!group.is_inner && !nodes.empty()) sets.emplace(nodes.to_string(), nodes);
    }
    if (last_.groups.empty()) {
      for (const CpuId node : all) sets.emplace(NodeSet::of(node).to_string(), NodeSet::of(node));
    }
    std::vector<NodeSet> list;
    list.reserve(sets.size());
    for (auto& [text, nodes] : sets) list.push_back(std::move(nodes));
    return list;
  }

  /// Returns true if a group may use these NUMA nodes and no others of the machine.
  [[nodiscard]] bool is_bound(const GroupMemory& group, const NodeSet& nodes) const {
    const NodeSet all = nodes_of(last_);
    const NodeSet own = group.mems & all;
    return !own.empty() && nodes != all && nodes.contains_all(own);
  }

  [[nodiscard]] std::optional<Forecast> forecast_of(const NodeSet& nodes) const {
    const auto rate = fall_of(samples_, nodes);
    if (!rate) return std::nullopt;
    Forecast out{Forecast::Kind::kNumaNodes, nodes};
    out.bytes_per_second = *rate;
    out.bytes = available_in(last_, nodes);
    const auto time = time_until_used(nodes, *rate);
    if (!time || *time > kHorizon.count()) return std::nullopt;
    out.in = Seconds(*time);
    add_groups(out);
    return out;
  }

  /// Returns the seconds until the NUMA nodes have no memory left; nullopt if it suffices.
  [[nodiscard]] std::optional<double> time_until_used(const NodeSet& nodes, double rate) const {
    std::multimap<double, double> ends;  // by time: what no longer grows from then on
    for (const GroupMemory& group : last_.groups) {
      const auto end = group.is_inner ? std::nullopt : growth_.end_of(group);
      if (end) ends.emplace(*end, growth_.of(group, nodes));
    }
    auto left = static_cast<double>(available_in(last_, nodes));
    double now = 0;
    for (const auto& [end, of_group] : ends) {
      if (left <= rate * (end - now)) break;
      left -= rate * (end - now);
      now = end;
      // What is left of the rate may be noise.
      rate = of_group > kNearlyAll * rate ? 0 : rate - of_group;
    }
    return rate > 0 ? std::optional(now + left / rate) : std::nullopt;
  }

  void add_groups(Forecast& out) const {
    for (const GroupMemory& group : last_.groups) {
      if (group.is_inner) continue;
      const bool bound = is_bound(group, out.numa_nodes);
      if (bound) out.bound.push_back(group.label);
      const double grows = growth_.of(group, out.numa_nodes);
      if (grows < kLeastShare * out.bytes_per_second) continue;
      out.growers.push_back({group.label, grows, bound, group.stalled});
    }
    std::stable_sort(out.growers.begin(), out.growers.end(), [](const Grower& a, const Grower& b) {
      return a.bytes_per_second > b.bytes_per_second;
    });
  }

  /// Adds the limits that come before NUMA nodes are used up. A pod's comes with its container's.
  void add_limits(std::vector<Forecast>& all) const {
    if (!is_falling(samples_)) return;
    const Seconds first_node = all.empty() ? kHorizon : soonest(all)->in;
    const auto& limits = growth_.limits();
    for (const auto& [directory, limit] : limits) {
      const auto below = limits.lower_bound(directory + "/");
      const bool is_of_pod = below != limits.end() && below->first.starts_with(directory + "/");
      if (!is_of_pod && limit.in <= first_node) all.push_back(limit);
    }
  }

  [[nodiscard]] static std::vector<Forecast>::const_iterator soonest(
      const std::vector<Forecast>& all) {
    return std::min_element(all.begin(), all.end(),
                            [](const Forecast& a, const Forecast& b) { return a.in < b.in; });
  }

  /// Returns true for NUMA nodes that contain those of a sooner forecast.
  [[nodiscard]] static bool follows_from(const std::vector<Forecast>& sooner, const Forecast& one) {
    if (one.kind != Forecast::Kind::kNumaNodes) return false;
    return std::any_of(sooner.begin(), sooner.end(), [&](const Forecast& other) {
      return other.kind == Forecast::Kind::kNumaNodes &&
             one.numa_nodes.contains_all(other.numa_nodes);
    });
  }

  /// A group that grows by less than this share of the fall is not named.
  static constexpr double kLeastShare = 0.1;
  /// A group that grows by more than this share counts as all that grows.
  static constexpr double kNearlyAll = 0.8;

  std::span<const MemorySample> samples_;
  const MemorySample& last_;
  Growth growth_;
};

}  // namespace

std::vector<Forecast> forecast(std::span<const MemorySample> samples) {
  if (samples.empty()) return {};
  return NumaForecaster(samples).forecasts();
}

bool is_falling(std::span<const MemorySample> samples) {
  if (samples.empty()) return false;
  const NodeSet nodes = nodes_of(samples.back());
  return std::any_of(nodes.begin(), nodes.end(), [&](CpuId node) {
    const auto rate = fall_of(samples, NodeSet::of(node));
    const auto left = static_cast<double>(available_in(samples.back(), NodeSet::of(node)));
    return rate && left <= *rate * kHorizon.count();
  });
}

}  // namespace pinfold::forecast
