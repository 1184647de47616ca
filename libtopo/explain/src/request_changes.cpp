#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>

#include "pinfold/api/pod_level.hpp"
#include "pinfold/api/validation.hpp"
#include "summary.hpp"
#include "trials.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

constexpr std::size_t kMostRequestChanges = 2;
constexpr std::size_t kMostPlacesTried = 4;  ///< for lowering several amounts
constexpr int kMostSteps = 10;

/// Where an amount is set: in a container of the pod, or (nullopt) in its pod-level resources.
using Target = std::optional<std::size_t>;

struct RequestChange {
  Target target;
  std::string resource;
  Quantity from;
  Quantity to;

  [[nodiscard]] bool raises() const { return to > from; }
  /// Returns the changed share of the amount.
  [[nodiscard]] double size() const {
    return std::abs(static_cast<double>((to - from).nano())) / static_cast<double>(from.nano());
  }
};

Resources& resources_of(PodSpec& pod, const Target& target) {
  return target ? pod.containers[*target].resources : *pod.resources;
}
const Resources& resources_of(const PodSpec& pod, const Target& target) {
  return target ? pod.containers[*target].resources : *pod.resources;
}

bool limit_equals_request(const Resources& resources, const std::string& resource) {
  const auto limit = resources.limits.find(resource);
  return limit != resources.limits.end() &&
         limit->second == amount_of(resources.requests, resource);
}

PodSpec changed(PodSpec pod, const std::vector<RequestChange>& changes) {
  for (const RequestChange& change : changes) {
    Resources& resources = resources_of(pod, change.target);
    if (limit_equals_request(resources, change.resource)) {
      resources.limits[change.resource] = change.to;
    }
    resources.requests[change.resource] = change.to;
  }
  return pod;
}

/// Searches for changes of a rejected pod's requests.
class RequestSearch {
 public:
  RequestSearch(const Failure& failure, Trials& trials)
      : failure_(failure), trials_(trials), missing_(find_missing(failure)) {}

  std::vector<Remedy> run() {
    std::vector<RequestChange> found;
    for (const Target& target : targets()) {
      for (const std::string& resource : resources(target)) {
        for (const bool raises : {true, false}) {
          if (auto change = nearest(target, resource, raises)) found.push_back(*change);
        }
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.size() < b.size(); });
    found.resize(std::min(found.size(), kMostRequestChanges));
    std::vector<Remedy> remedies;
    remedies.reserve(found.size());
    for (const RequestChange& change : found) remedies.push_back(remedy({change}));
    if (!remedies.empty()) return remedies;
    for (std::size_t i = 0; i < std::min(missing_.size(), kMostPlacesTried); ++i) {
      const auto changes = step_by_step(fitting_into(missing_[i]));
      if (changes.empty() || !is_admitted(changes)) continue;
      remedies.push_back(remedy(changes));
      break;
    }
    return remedies;
  }

 private:
  [[nodiscard]] bool is_admitted(const std::vector<RequestChange>& changes) {
    const PodSpec pod = changed(failure_.pod, changes);
    if (!find_violations(pod).empty() && find_violations(failure_.pod).empty()) return false;
    return trials_.admits(failure_.node, failure_.state, pod);
  }

  [[nodiscard]] std::vector<Target> targets() const {
    std::vector<Target> all;
    const PodSpec& pod = failure_.pod;
    if (failure_.is_whole_pod() && uses_pod_level_resources(failure_.node.gates(), pod)) {
      all.emplace_back(std::nullopt);
    }
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
      if (failure_.is_whole_pod() || pod.containers[i].name == failure_.step.object) {
        all.emplace_back(i);
      }
    }
    return all;
  }

  /// Returns the resources that may have to change: those that the step needed and the target
  /// requests.
  [[nodiscard]] std::vector<std::string> resources(const Target& target) const {
    std::set<std::string> names;
    for (const Amounts& amounts : failure_.amounts) names.insert(amounts.resource);
    for (const char* const name : {"cpu", "memory"}) {
      if (is_starved(name)) names.insert(name);
    }
    for (const auto& [name, amount] : resources_of(failure_.pod, target).requests) {
      if (is_memory_resource(name) && !amount.is_whole()) names.insert(name);
    }
    std::erase_if(names, [&](const std::string& name) {
      return amount_of(resources_of(failure_.pod, target).requests, name).is_zero();
    });
    return {names.begin(), names.end()};
  }

  [[nodiscard]] bool counts_whole(const Target& target, const std::string& resource) const {
    if (!is_native_resource(resource)) return true;
    if (resource != "cpu") return false;
    const PodView pod(failure_.pod);
    if (!target) return resources_of(failure_.pod, target).requests.at(resource).is_whole();
    return failure_.node.cpu().is_static() &&
           failure_.node.cpu().guaranteed_cpus(pod, pod.containers[*target]) > 0;
  }

  /// Returns by how much to lower an amount at first: its shortages at the places.
  [[nodiscard]] std::set<Quantity> shortages(const std::string& resource) const {
    std::set<Quantity> all;
    for (const Missing& missing : missing_) {
      for (const Amounts& amounts : missing.amounts) {
        if (amounts.resource == resource) all.insert(amounts.needed);
      }
    }
    if (is_starved(resource)) all.insert(starved_request(resource));
    return all;
  }

  [[nodiscard]] bool is_enough_somewhere(const std::string& resource) const {
    return std::any_of(missing_.begin(), missing_.end(), [&](const Missing& missing) {
      return std::none_of(missing.amounts.begin(), missing.amounts.end(),
                          [&](const Amounts& amounts) { return amounts.resource == resource; });
    });
  }

  /// Returns whether the pod has too little of a resource for its own containers.
  [[nodiscard]] bool is_starved(const std::string& resource) const {
    return !starved_containers(failure_, resource).empty() ||
           find_init_shortage(failure_, resource).has_value();
  }

  /// Returns what the containers request for which nothing is left; at least the smallest amount.
  [[nodiscard]] Quantity starved_request(const std::string& resource) const {
    if (const auto shortage = find_init_shortage(failure_, resource)) {
      return shortage->needed - shortage->left;
    }
    Quantity sum;
    for (const std::string& name : starved_containers(failure_, resource)) {
      sum += amount_of(failure_.pod.find(name)->resources.requests, resource);
    }
    if (resource == "cpu") return whole(std::max<std::int64_t>(sum.value(), 1));
    return std::max(sum, Quantity::bytes(std::int64_t{1} << 20U));
  }

  /// Returns an upper bound: a larger number of anything never fits.
  [[nodiscard]] std::int64_t most_there_is() const {
    const Machine& machine = failure_.node.machine();
    return static_cast<std::int64_t>(std::max(machine.cpus().size(), machine.devices().size()));
  }

  [[nodiscard]] static Quantity whole(std::int64_t count) {
    return Quantity::of(count, Quantity::Format::kDecimalSi);
  }

  /// Returns larger amounts that may fit where the present one does not: whole cores, more for the
  /// pod as a whole, whole bytes.
  [[nodiscard]] std::vector<Quantity> raised(const Target& target, const std::string& resource,
                                             const Quantity& from) const {
    const bool starves = is_starved(resource) && !target;
    if (is_memory_resource(resource)) {
      if (starves) return {from + starved_request(resource)};
      if (!from.is_whole()) return {Quantity::bytes(from.value())};
    }
    const bool needs_whole_cores = failure_.why.reason == "SMTAlignmentError";
    std::vector<Quantity> all;
    if (resource != "cpu" || from.value() > most_there_is()) return all;
    if (!starves && !needs_whole_cores) return all;
    const std::int64_t first = starves ? starved_request(resource).value() : 1;
    if (first > most_there_is()) return all;
    for (int i = 0; i < failure_.node.machine().cpus_per_core(); ++i) {
      all.push_back(whole(from.value() + first + i));
    }
    return all;
  }

  /// Returns the amounts to try, nearest first.
  [[nodiscard]] std::vector<Quantity> candidates(const Target& target, const std::string& resource,
                                                 bool raises) const {
    const Quantity from = amount_of(resources_of(failure_.pod, target).requests, resource);
    const std::set<Quantity> by = shortages(resource);
    std::vector<Quantity> all;
    if (raises) return raised(target, resource, from);
    if (counts_whole(target, resource)) {
      // If a place has enough of it, something else is in the way, and any lower amount may remove
      // that.
      const std::int64_t least = by.empty() || is_enough_somewhere(resource)
                                     ? 1
                                     : std::max<std::int64_t>(by.begin()->value(), 1);
      for (std::int64_t count = std::min(from.value() - least, most_there_is()); count > 0;
           --count) {
        all.push_back(whole(count));
      }
      return all;
    }
    const auto add = [&](const Quantity& to) {
      if (to.sign() > 0 && to < from) all.push_back(rounded_down(to));
    };
    for (const Quantity& amount : by) add(from - amount);
    for (const Quantity& amount : free_on_numa_nodes(resource)) add(amount);
    std::sort(all.begin(), all.end(), std::greater<>());
    return all;
  }

  /// Returns what each NUMA node has free, and what those with the most free have together: memory
  /// may be free on the node as a whole although no NUMA nodes can serve it.
  [[nodiscard]] std::vector<Quantity> free_on_numa_nodes(const std::string& resource) const {
    std::vector<Quantity> all;
    for (const Amounts& amounts : failure_.amounts) {
      if (amounts.resource != resource) continue;
      for (const std::int32_t id : numa_ids({amounts})) all.push_back(free_at(amounts, id));
    }
    std::sort(all.begin(), all.end(), std::greater<>());
    const std::size_t nodes = all.size();
    Quantity together;
    for (std::size_t i = 0; i < nodes; ++i) all.push_back(together += all[i]);
    return all;
  }

  /// Rounds memory of 1Mi or more down to whole Mi, as people write amounts.
  [[nodiscard]] static Quantity rounded_down(const Quantity& amount) {
    constexpr std::int64_t kMi = std::int64_t{1} << 20U;
    if (amount.format() != Quantity::Format::kBinarySi || amount.value() < kMi) return amount;
    return Quantity::bytes(amount.value() / kMi * kMi);
  }

  [[nodiscard]] std::optional<RequestChange> nearest(const Target& target,
                                                     const std::string& resource, bool raises) {
    const Quantity from = amount_of(resources_of(failure_.pod, target).requests, resource);
    for (const Quantity& to : candidates(target, resource, raises)) {
      RequestChange change{target, resource, from, to};
      if (is_admitted({change})) return change;
    }
    return std::nullopt;
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

  static void merge_into(std::vector<RequestChange>& changes, const RequestChange& more) {
    for (RequestChange& change : changes) {
      if (change.target != more.target || change.resource != more.resource) continue;
      change.to = more.to;
      return;
    }
    changes.push_back(more);
  }

  /// Lowers everything that is missing at a place, each amount where most of it is requested.
  [[nodiscard]] std::vector<RequestChange> fitting_into(const Missing& missing) const {
    std::vector<RequestChange> changes;
    for (const Amounts& lack : missing.amounts) {
      std::optional<RequestChange> change;
      for (const Target& target : targets()) {
        const Quantity from = amount_of(resources_of(failure_.pod, target).requests, lack.resource);
        if (!change || from > change->from) change = {target, lack.resource, from, {}};
      }
      if (!change) return {};
      change->to = rounded_down(change->from - lack.needed);
      if (counts_whole(change->target, lack.resource)) {
        change->to = whole_cores(lack.resource, change->to);
      }
      if (change->to.sign() <= 0) return {};
      changes.push_back(*change);
    }
    return changes;
  }

  [[nodiscard]] Quantity whole_cores(const std::string& resource, const Quantity& amount) const {
    const bool in_cores = resource == "cpu" && failure_.node.cpu().options().full_pcpus_only;
    const std::int64_t group = in_cores ? std::max(failure_.node.machine().cpus_per_core(), 1) : 1;
    return Quantity::of(amount.value() / group * group, Quantity::Format::kDecimalSi);
  }

  [[nodiscard]] std::string text(const RequestChange& change) const {
    const Resources& resources = resources_of(failure_.pod, change.target);
    const bool both = limit_equals_request(resources, change.resource);
    const auto rounding = change.raises() ? AmountRounding::kUp : AmountRounding::kDown;
    return fmt::format("{}: {} {} -> {} ({})",
                       change.target ? "container " + failure_.pod.containers[*change.target].name
                                     : "the pod as a whole",
                       change.resource, readable(change.from, rounding), change.to.to_string(),
                       both ? "requests and limits" : "requests");
  }

  [[nodiscard]] Remedy remedy(const std::vector<RequestChange>& changes) const {
    Remedy found{Remedy::Kind::kRequest, "", changed(failure_.pod, changes), {}, std::nullopt};
    std::vector<std::string> parts;
    parts.reserve(changes.size());
    for (const RequestChange& change : changes) parts.push_back(text(change));
    found.text = listed(parts);
    if (failure_.why.reason == "SMTAlignmentError") {
      found.text += fmt::format(": full-pcpus-only gives whole cores of {} CPUs",
                                failure_.node.machine().cpus_per_core());
    }
    return found;
  }

  const Failure& failure_;
  Trials& trials_;
  std::vector<Missing> missing_;
};

}  // namespace

std::vector<Remedy> request_changes(const Failure& failure, Trials& trials) {
  return RequestSearch(failure, trials).run();
}

}  // namespace pinfold::explain_detail
