#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "pinfold/api/pod_level.hpp"
#include "pinfold/api/validation.hpp"
#include "request_change.hpp"
#include "trials.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

constexpr std::size_t kMostRequestChanges = 2;
constexpr std::size_t kMostPlacesTried = 4;  ///< for lowering several amounts
constexpr int kMostSteps = 10;

void merge_into(std::vector<RequestChange>& changes, const RequestChange& more) {
  for (RequestChange& change : changes) {
    if (change.target != more.target || change.resource != more.resource) continue;
    change.to = more.to;
    return;
  }
  changes.push_back(more);
}

/// Searches for changes of a rejected pod's requests.
class RequestSearch {
 public:
  RequestSearch(const Failure& failure, Trials& trials)
      : failure_(failure), trials_(trials), missing_(find_missing(failure)) {}

  std::vector<Remedy> run() {
    std::vector<Remedy> remedies = smallest_changes();
    // Last, as the containers lose what they have asked for.
    const auto shared = without_exclusive_cpus();
    if (!shared.empty()) {
      remedies.push_back(remedy(shared));
    } else if (auto later = with_sidecars_later()) {
      remedies.push_back(*std::move(later));
    }
    return remedies;
  }

  /// Returns the pod with only what is missing at the nearest place changed; nullopt if no request
  /// can change that.
  [[nodiscard]] std::optional<MetShortage> with_shortage_met() const {
    std::vector<RequestChange> changes = shared_pool_filled();
    if (changes.empty()) changes = whole_cores_everywhere(Rounding::kUp);
    if (changes.empty() && !missing_.empty()) changes = fitting_into(missing_.front());
    if (changes.empty()) return std::nullopt;
    return MetShortage{changes, text_of(changes), changed(failure_.pod, changes)};
  }

 private:
  [[nodiscard]] bool is_admitted(const std::vector<RequestChange>& changes) {
    const PodSpec pod = changed(failure_.pod, changes);
    if (!find_violations(pod).empty() && find_violations(failure_.pod).empty()) return false;
    return trials_.admits(failure_.node, failure_.state, pod);
  }

  /// Returns all places where the pod sets amounts: that of the step first.
  [[nodiscard]] std::vector<Target> targets() const {
    std::vector<Target> all;
    const PodSpec& pod = failure_.pod;
    if (uses_pod_level_resources(failure_.node.gates(), pod)) all.emplace_back(std::nullopt);
    for (std::size_t i = 0; i < pod.containers.size(); ++i) all.emplace_back(i);
    std::stable_partition(all.begin(), all.end(),
                          [&](const Target& target) { return is_of_step(target); });
    return all;
  }

  [[nodiscard]] bool is_of_step(const Target& target) const {
    if (failure_.is_whole_pod()) return !target;
    return target && failure_.pod.containers[*target].name == failure_.step.object;
  }

  [[nodiscard]] std::vector<Remedy> smallest_changes() {
    find_single_changes();
    std::vector<Remedy> remedies;
    for (const RequestChange& change : found_) remedies.push_back(remedy({change}));
    const auto several = several_changes();
    if (several.empty()) return remedies;
    if (remedies.empty()) return {remedy(several)};
    if (size_of(several) < found_.front().size()) return {remedy(several), remedies.front()};
    if (remedies.size() < kMostRequestChanges && !includes(several, found_.front())) {
      remedies.push_back(remedy(several));
    }
    return remedies;
  }

  /// Returns whether the changes include the single one, or a larger version of it.
  [[nodiscard]] static bool includes(const std::vector<RequestChange>& several,
                                     const RequestChange& single) {
    return std::any_of(several.begin(), several.end(), [&](const RequestChange& one) {
      return one.target == single.target && one.resource == single.resource &&
             one.raises() == single.raises() && one.size() >= single.size();
    });
  }

  /// Returns the smallest change with which the pod fits because a container has no exclusive CPUs;
  /// if one does not suffice, that of all init containers and sidecars. Empty if neither does.
  [[nodiscard]] std::vector<RequestChange> without_exclusive_cpus() {
    constexpr double kLarge = 1.0 / 3;
    const bool is_large = found_.empty() || found_.front().size() > kLarge;
    std::optional<RequestChange> smallest;
    std::vector<RequestChange> all;
    for (const Target& target : targets()) {
      const std::vector<Quantity> amounts = shared_amounts(failure_, target, is_large);
      if (!amounts.empty() && !is_app(target)) all.push_back(shared(target, amounts.front()));
      for (const Quantity& to : amounts) {
        const RequestChange change = shared(target, to);
        if (smallest && change.size() >= smallest->size()) break;
        if (!is_app(target) && has_smaller(target, change.size())) break;
        if (is_admitted({change})) smallest = change;
      }
    }
    if (smallest) return {*smallest};
    return found_.empty() && all.size() > 1 && is_admitted(all) ? all
                                                                : std::vector<RequestChange>{};
  }

  /// Declares the sidecars after the init containers, if the pod then fits: an init container runs
  /// at the same time as the sidecars before it, and leaves its CPUs to the containers after it.
  [[nodiscard]] std::optional<Remedy> with_sidecars_later() {
    PodSpec pod = failure_.pod;
    const auto of_kind = [](ContainerKind kind) {
      return [kind](const Container& container) { return container.kind == kind; };
    };
    const auto apps =
        std::find_if(pod.containers.begin(), pod.containers.end(), of_kind(ContainerKind::kApp));
    const auto sidecars =
        std::stable_partition(pod.containers.begin(), apps, of_kind(ContainerKind::kInit));
    if (pod == failure_.pod || !trials_.admits(failure_.node, failure_.state, pod)) {
      return std::nullopt;
    }
    std::vector<std::string> names;
    for (auto sidecar = sidecars; sidecar != apps; ++sidecar) names.push_back(sidecar->name);
    std::string text =
        fmt::format("sidecar{} {} declared after init container {}", names.size() == 1 ? "" : "s",
                    listed(names), std::prev(sidecars)->name);
    return Remedy{Remedy::Kind::kRequest, std::move(text), std::move(pod), {}, std::nullopt};
  }

  [[nodiscard]] bool is_app(const Target& target) const {
    return target && failure_.pod.containers[*target].kind == ContainerKind::kApp;
  }

  [[nodiscard]] RequestChange shared(const Target& target, const Quantity& to) const {
    return {target, "cpu", requested(failure_.pod, target, "cpu"), to, true};
  }

  /// Returns whether a change of at most this size suffices with which the container keeps
  /// exclusive CPUs.
  [[nodiscard]] bool has_smaller(const Target& target, double size) const {
    return std::any_of(found_.begin(), found_.end(), [&](const RequestChange& change) {
      return change.target == target && change.resource == "cpu" && !change.raises() &&
             change.size() <= size;
    });
  }

  /// Leaves the smallest changes in `found_`, the smallest first.
  void find_single_changes() {
    for (const Target& target : targets()) {
      for (const auto& [resource, amount] : resources_of(failure_.pod, target).requests) {
        if (amount.is_zero()) continue;
        keep(nearest(target, resource, larger_amounts(failure_, target, resource)));
        keep(nearest(target, resource, smaller_amounts(failure_, target, resource)));
      }
    }
  }

  void keep(const std::optional<RequestChange>& change) {
    if (!change) return;
    const auto place = std::upper_bound(
        found_.begin(), found_.end(), *change,
        [](const RequestChange& a, const RequestChange& b) { return a.size() < b.size(); });
    found_.insert(place, *change);
    found_.resize(std::min(found_.size(), kMostRequestChanges));
  }

  /// Returns the size at which a change becomes irrelevant.
  [[nodiscard]] double too_large() const {
    return found_.size() < kMostRequestChanges ? std::numeric_limits<double>::infinity()
                                               : found_.back().size();
  }

  /// `amounts`: nearest first.
  [[nodiscard]] std::optional<RequestChange> nearest(const Target& target,
                                                     const std::string& resource,
                                                     const std::vector<Quantity>& amounts) {
    RequestChange change{target, resource, requested(failure_.pod, target, resource), {}};
    Quantity refused = change.from;
    for (const Quantity& to : amounts) {
      change.to = to;
      if (change.size() >= too_large()) return std::nullopt;
      if (is_admitted({change})) return nearer(change, refused);
      refused = to;
    }
    return std::nullopt;
  }

  [[nodiscard]] static double size_of(const std::vector<RequestChange>& changes) {
    double sum = 0;
    for (const RequestChange& change : changes) sum += change.size();
    return sum;
  }

  /// Returns the smallest changes of several amounts at once; empty if none is found.
  [[nodiscard]] std::vector<RequestChange> several_changes() {
    if (found_.empty()) {
      for (const Rounding rounding : {Rounding::kUp, Rounding::kDown}) {
        auto changes = whole_cores_everywhere(rounding);
        if (changes.size() > 1 && is_admitted(changes)) return changes;
      }
    }
    std::vector<RequestChange> smallest;
    for (std::size_t i = 0; i < std::min(missing_.size(), kMostPlacesTried); ++i) {
      const auto changes = step_by_step(fitting_into(missing_[i]));
      if (changes.size() < 2 && !found_.empty()) continue;  // a single one would be in found_
      if (changes.empty() || !is_admitted(changes)) continue;
      if (smallest.empty() || size_of(changes) < size_of(smallest)) smallest = changes;
    }
    if (smallest.empty()) smallest = fewer_whole_cores();
    return smallest.empty() && found_.empty() ? smallest_pair() : smallest;
  }

  /// Returns the smallest change of two amounts: each possible first one, and the smallest single
  /// change of the pod that is left. Empty if none is found in a limited number of trials.
  [[nodiscard]] std::vector<RequestChange> smallest_pair() {
    constexpr int kMostTrials = 600;
    Trials trials(kMostTrials);
    std::vector<RequestChange> smallest;
    for (const RequestChange& first : first_halves()) {
      if (trials.exhausted()) break;
      if (!smallest.empty() && first.size() >= size_of(smallest)) break;
      const PodSpec pod = changed(failure_.pod, {first});
      if (!find_violations(pod).empty() && find_violations(failure_.pod).empty()) continue;
      const auto next = find_failure(failure_.node, failure_.state, pod, nullptr);
      if (!next) continue;
      RequestSearch there(*next, trials);
      there.find_single_changes();
      for (const RequestChange& second : there.found_) {
        if (is_senseless(second)) continue;
        std::vector<RequestChange> both = {first};
        merge_into(both, second);
        const bool is_smaller = smallest.empty() || size_of(both) < size_of(smallest);
        if (both.size() != 2 || !is_smaller || !is_admitted(both)) continue;
        std::sort(both.begin(), both.end(), [](const RequestChange& a, const RequestChange& b) {
          return std::tie(a.target, a.resource) < std::tie(b.target, b.resource);
        });
        smallest = std::move(both);
      }
    }
    return smallest;
  }

  /// Returns whether less than half is left of an amount: as one of two changes that is no advice.
  [[nodiscard]] static bool is_senseless(const RequestChange& change) {
    constexpr double kMost = 0.5;
    return !change.raises() && change.size() > kMost;
  }

  /// Returns the changes of single amounts that may be one of two, the smallest first.
  [[nodiscard]] std::vector<RequestChange> first_halves() const {
    constexpr std::size_t kMostOfOne = 12;  // amounts to try of one request
    std::vector<RequestChange> all;
    for (const Target& target : targets()) {
      for (const auto& [resource, amount] : resources_of(failure_.pod, target).requests) {
        if (amount.is_zero()) continue;
        auto amounts = larger_amounts(failure_, target, resource);
        const auto smaller = smaller_amounts(failure_, target, resource);
        amounts.insert(amounts.end(), smaller.begin(), smaller.end());
        amounts.resize(std::min(amounts.size(), kMostOfOne));
        for (const Quantity& to : amounts) all.push_back({target, resource, amount, to});
        std::erase_if(all, is_senseless);
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const RequestChange& a, const RequestChange& b) {
      return a.size() < b.size();
    });
    return all;
  }

  /// Lowers a pod as a whole to whole cores, and a container with it: the others share what is then
  /// left. Empty if that does not suffice.
  [[nodiscard]] std::vector<RequestChange> fewer_whole_cores() {
    const bool is_odd = failure_.why.reason == kUnevenCores && failure_.is_whole_pod() &&
                        uses_pod_level_resources(failure_.node.gates(), failure_.pod);
    if (!is_odd) return {};
    const Quantity from = requested(failure_.pod, std::nullopt, "cpu");
    std::vector<RequestChange> changes = {{std::nullopt, "cpu", from, whole_cores("cpu", from)}};
    if (changes.front().to == from || changes.front().to.is_zero()) return {};
    const PodSpec pod = changed(failure_.pod, changes);
    const auto next = find_failure(failure_.node, failure_.state, pod, nullptr);
    if (!next) return {};  // a single change suffices
    RequestSearch there(*next, trials_);
    there.find_single_changes();
    if (there.found_.empty() || !there.found_.front().target) return {};
    changes.push_back(there.found_.front());
    return is_admitted(changes) ? changes : std::vector<RequestChange>{};
  }

  /// Gives a pod as a whole what its containers lack; empty if they lack nothing.
  [[nodiscard]] std::vector<RequestChange> shared_pool_filled() const {
    for (const char* const resource : {"cpu", "memory"}) {
      if (!is_starved(failure_, resource)) continue;
      const auto amounts = larger_amounts(failure_, std::nullopt, resource);
      if (amounts.empty()) continue;
      return {{std::nullopt, resource, requested(failure_.pod, std::nullopt, resource),
               amounts.front()}};
    }
    return {};
  }

  /// Looks for memory between an amount that fits and one that does not, in steps of 1Mi.
  [[nodiscard]] RequestChange nearer(RequestChange fits, const Quantity& refused) {
    constexpr std::int64_t kMi = std::int64_t{1} << 20U;
    if (fits.raises() || counts_whole(failure_, fits.target, fits.resource)) return fits;
    if (!is_memory_resource(fits.resource) || fits.to.is_zero()) return fits;
    std::int64_t low = fits.to.value() / kMi;
    std::int64_t high = refused.value() / kMi;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      RequestChange nearer = fits;
      nearer.to = Quantity::bytes(middle * kMi);
      if (is_admitted({nearer})) {
        fits = nearer;
        low = middle;
      } else {
        high = middle;
      }
    }
    return fits;
  }

  /// Also lowers what the next step of the admission is short of, in another container for
  /// instance, until the pod fits. Empty if it does not.
  [[nodiscard]] std::vector<RequestChange> step_by_step(std::vector<RequestChange> changes) const {
    for (int step = 0; !changes.empty() && step < kMostSteps; ++step) {
      const PodSpec pod = changed(failure_.pod, changes);
      const auto next = find_failure(failure_.node, failure_.state, pod, nullptr);
      if (!next) return changes;
      const RequestSearch there(*next, trials_);
      if (there.missing_.empty()) return {};
      const auto more = there.fitting_into(there.missing_.front());
      if (more.empty()) return {};
      for (const RequestChange& change : more) merge_into(changes, change);
    }
    return {};
  }

  /// Lowers everything that is missing at a place.
  [[nodiscard]] std::vector<RequestChange> fitting_into(const Missing& missing) const {
    std::vector<RequestChange> changes;
    for (const Amounts& lack : missing.amounts) {
      const auto change = lowered_by(lack);
      if (!change) return {};
      changes.push_back(*change);
    }
    return changes;
  }

  /// Lowers an amount by what is missing, where that is the smallest change. For a resource that
  /// counts whole, the next smaller whole number remains. nullopt if nothing would remain.
  [[nodiscard]] std::optional<RequestChange> lowered_by(const Amounts& lack) const {
    std::optional<RequestChange> smallest;
    for (const Target& target : targets()) {
      if (!failure_.is_whole_pod() && !is_of_step(target)) continue;
      const Quantity from = requested(failure_.pod, target, lack.resource);
      RequestChange change{target, lack.resource, from,
                           rounded_down(lack.resource, from - lack.needed)};
      if (counts_whole(failure_, target, lack.resource)) {
        change.to = whole_cores(lack.resource, change.to);
      }
      if (change.to.sign() <= 0) continue;
      if (!smallest || change.size() < smallest->size()) smallest = change;
      if (!target) break;  // the containers share what the pod has as a whole
    }
    return smallest;
  }

  enum class Rounding { kUp, kDown };

  /// Gives whole cores to all containers with exclusive CPUs, and at least one to each.
  [[nodiscard]] std::vector<RequestChange> whole_cores_everywhere(Rounding rounding) const {
    std::vector<RequestChange> changes;
    if (failure_.why.reason != kUnevenCores) return changes;
    const std::int64_t core = std::max(failure_.node.machine().cpus_per_core(), 1);
    for (const Target& target : targets()) {
      if (!target || !counts_whole(failure_, target, "cpu")) continue;
      const Quantity from = requested(failure_.pod, target, "cpu");
      const Quantity below = whole_cores("cpu", from);
      if (below == from) continue;
      const bool goes_down = rounding == Rounding::kDown && !below.is_zero();
      const std::int64_t to = below.value() + (goes_down ? 0 : core);
      changes.push_back({target, "cpu", from, Quantity::of(to, Quantity::Format::kDecimalSi)});
    }
    return changes;
  }

  [[nodiscard]] Quantity whole_cores(const std::string& resource, const Quantity& amount) const {
    const bool in_cores = resource == "cpu" && failure_.node.cpu().options().full_pcpus_only;
    const std::int64_t group = in_cores ? std::max(failure_.node.machine().cpus_per_core(), 1) : 1;
    const std::int64_t whole = amount.milli_value() / 1000;  // value() would round up
    return Quantity::of(whole / group * group, Quantity::Format::kDecimalSi);
  }

  [[nodiscard]] std::string text_of(const std::vector<RequestChange>& changes) const {
    std::vector<std::string> parts;
    parts.reserve(changes.size());
    for (const RequestChange& change : changes) parts.push_back(describe(failure_.pod, change));
    return listed(parts);
  }

  [[nodiscard]] Remedy remedy(const std::vector<RequestChange>& changes) const {
    Remedy found{
        Remedy::Kind::kRequest, text_of(changes), changed(failure_.pod, changes), {}, std::nullopt};
    const bool is_aligned =
        std::any_of(changes.begin(), changes.end(), [](const RequestChange& change) {
          return change.resource == "cpu" && !change.loses_exclusive_cpus;
        });
    if (failure_.why.reason == kUnevenCores && is_aligned &&
        failure_.node.machine().cpus_per_core() > 1) {
      found.text += fmt::format(": full-pcpus-only assigns whole cores of {} CPUs",
                                core_sizes(failure_.node.machine()));
    }
    return found;
  }

  const Failure& failure_;
  Trials& trials_;
  std::vector<Missing> missing_;
  std::vector<RequestChange> found_;
};

}  // namespace

std::optional<MetShortage> with_shortage_met(const Failure& failure) {
  Trials none(0);
  return RequestSearch(failure, none).with_shortage_met();
}

std::vector<Remedy> request_changes(const Failure& failure, Trials& trials) {
  return RequestSearch(failure, trials).run();
}

}  // namespace pinfold::explain_detail
