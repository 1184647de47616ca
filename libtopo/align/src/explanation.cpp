#include "pinfold/align/explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "filter_hints.hpp"
#include "pinfold/place/score.hpp"
#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold {
namespace {

constexpr std::size_t kMostChanges = 3;
constexpr std::size_t kMostNamed = 4;

HintSummary summarize(const align::HintsOfResource& hints, TopologyPolicy policy) {
  HintSummary summary;
  summary.resource = hints.resource;
  std::vector<NumaMask> possible;
  bool anywhere = hints.hints.kind == place::Hints::Kind::kAnywhere;
  for (const TopologyHint& hint : hints.hints.list) {
    if (!hint.numa) {
      anywhere = anywhere || hint.preferred;
      continue;
    }
    possible.push_back(*hint.numa);
    const bool fits = policy != TopologyPolicy::kSingleNumaNode || hint.numa->count() == 1;
    if (hint.preferred && fits) summary.masks.push_back(*hint.numa);
  }
  if (anywhere) return {summary.resource, HintSummary::Kind::kNoPreference, {}};
  summary.kind = HintSummary::Kind::kFit;
  if (!summary.masks.empty()) return summary;
  summary.kind = possible.empty() ? HintSummary::Kind::kImpossible : HintSummary::Kind::kUnfit;
  int narrowest = NumaMask::kMaxNodes;
  for (const NumaMask mask : possible) narrowest = std::min(narrowest, mask.count());
  std::copy_if(possible.begin(), possible.end(), std::back_inserter(summary.masks),
               [&](NumaMask mask) { return mask.count() == narrowest; });
  return summary;
}

bool has_preference(const HintSummary& hints) {
  return hints.kind != HintSummary::Kind::kNoPreference;
}
bool fits_somewhere(const HintSummary& hints) { return hints.kind == HintSummary::Kind::kFit; }

std::set<NumaMask> common_masks(std::span<const HintSummary* const> resources) {
  std::set<NumaMask> common;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const std::set<NumaMask> masks(resources[i]->masks.begin(), resources[i]->masks.end());
    if (i == 0) common = masks;
    std::erase_if(common, [&](NumaMask mask) { return !masks.contains(mask); });
  }
  return common;
}

std::vector<std::string> responsible_for(const std::vector<HintSummary>& resources) {
  std::vector<std::string> names;
  std::vector<const HintSummary*> conflict;
  for (const HintSummary& resource : resources) {
    if (!has_preference(resource)) continue;
    if (!fits_somewhere(resource)) names.push_back(resource.resource);
    conflict.push_back(&resource);
  }
  if (!names.empty()) return names;
  // Drop one resource after another while the rest still has no mask in common.
  for (std::size_t i = 0; i < conflict.size();) {
    std::vector<const HintSummary*> rest = conflict;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    if (!rest.empty() && common_masks(rest).empty()) {
      conflict = std::move(rest);
    } else {
      ++i;
    }
  }
  for (const HintSummary* const resource : conflict) names.push_back(resource->resource);
  return names;
}

std::vector<AlignmentChange> fewest_changes(const std::vector<HintSummary>& resources) {
  std::map<NumaMask, std::size_t> users;
  std::size_t with_preference = 0;
  for (const HintSummary& resource : resources) {
    if (has_preference(resource)) ++with_preference;
    if (!fits_somewhere(resource)) continue;
    for (const NumaMask mask : std::set<NumaMask>(resource.masks.begin(), resource.masks.end())) {
      ++users[mask];
    }
  }
  std::size_t most = 0;
  for (const auto& [mask, count] : users) most = std::max(most, count);
  std::vector<NumaMask> targets;
  for (const auto& [mask, count] : users) {
    if (count == most && count < with_preference) targets.push_back(mask);
  }
  std::stable_sort(targets.begin(), targets.end(),
                   [](NumaMask a, NumaMask b) { return a.narrower_than(b); });
  targets.resize(std::min(targets.size(), kMostChanges));
  std::vector<AlignmentChange> changes;
  for (const NumaMask target : targets) {
    AlignmentChange change{target, {}};
    for (const HintSummary& resource : resources) {
      const auto& masks = resource.masks;
      const bool fits_here =
          fits_somewhere(resource) && std::find(masks.begin(), masks.end(), target) != masks.end();
      if (has_preference(resource) && !fits_here) change.resources.push_back(resource.resource);
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

/// Returns the aligned masks that are as good as the result, with their scores, the result first.
std::vector<ScoredNodes> scored(const TopologyManager& manager,
                                std::span<const ResourceHints> providers,
                                const MergeExplanation& explanation, const UsageByResource& usage) {
  const TopologyOptions& options = manager.options();
  const std::optional<NumaMask>& best = explanation.result.best.numa;
  if (options.numa_allocation_strategy == NumaAllocationStrategy::kNone || !best) return {};
  std::vector<const HintSummary*> with_preference;
  for (const HintSummary& hints : explanation.hints) {
    if (has_preference(hints)) with_preference.push_back(&hints);
  }
  std::vector<ScoredNodes> all = {{*best}};
  for (const NumaMask mask : common_masks(with_preference)) {
    if (mask != *best && manager.are_equally_good(mask, *best)) all.push_back({mask});
  }
  if (all.size() == 1) return {};
  std::vector<place::Hints> resources;
  for (const auto& [resource, hints] :
       align::filter_hints(providers, usage, options.numa_score_weights)) {
    resources.push_back(hints);
  }
  for (ScoredNodes& one : all) one.score = place::score_of(resources, one.nodes);
  return all;
}

/// Phrases the sentences about one merge, with OS ids of NUMA nodes and the terms of its policy.
class Wording {
 public:
  Wording(const TopologyManager& manager, const MergeExplanation& explanation)
      : manager_(manager), explanation_(explanation) {}

  [[nodiscard]] std::string nodes(NumaMask mask) const {
    CpuSet ids;  // NUMA nodes are listed in the same format as CPUs
    for (const int position : mask.positions()) {
      ids.insert(CpuId{manager_.numa_id(position).value});
    }
    return ids.to_string();
  }

  [[nodiscard]] std::string hints(const HintSummary& hints) const {
    switch (hints.kind) {
      case HintSummary::Kind::kNoPreference:
        return hints.resource + " may come from any NUMA node";
      case HintSummary::Kind::kImpossible:
        return hints.cause.empty() ? hints.resource + " fits on no NUMA node"
                                   : hints.resource + " cannot be given: " + hints.cause;
      case HintSummary::Kind::kFit:
        return fmt::format("{} fits on NUMA {}", hints.resource, choice(hints.masks));
      case HintSummary::Kind::kUnfit:
        break;
    }
    const int width = hints.masks.front().count();
    if (single() && width > 1) {
      return fmt::format("{} needs at least {} NUMA nodes ({})", hints.resource, width,
                         choice(hints.masks));
    }
    return fmt::format("{} fits at best on NUMA {}, which is not preferred", hints.resource,
                       choice(hints.masks));
  }

  [[nodiscard]] std::string result() const {
    const MergedHint& result = explanation_.result;
    if (result.best.preferred) return aligned();
    std::string why = "not aligned: " + conflict();
    if (!result.admit) return why;
    return why + "; best-effort takes NUMA " + nodes(*result.best.numa);
  }

  [[nodiscard]] std::string change(const AlignmentChange& change) const {
    return fmt::format("NUMA {} would work if {} fitted there", nodes(change.nodes),
                       fmt::join(change.resources, " and "));
  }

 private:
  [[nodiscard]] bool single() const { return manager_.policy() == TopologyPolicy::kSingleNumaNode; }

  [[nodiscard]] std::string choice(const std::vector<NumaMask>& masks) const {
    std::vector<std::string> names;
    names.reserve(masks.size());
    for (const NumaMask mask : masks) names.push_back(nodes(mask));
    return fmt::format("{}", fmt::join(first_named(std::move(names), kMostNamed, "more"), " or "));
  }

  [[nodiscard]] const HintSummary& hints_of(const std::string& resource) const {
    return *std::find_if(explanation_.hints.begin(), explanation_.hints.end(),
                         [&](const HintSummary& hints) { return hints.resource == resource; });
  }

  // "cpu fits on NUMA 0 or 1, memory only on 2: no single NUMA node satisfies both"
  [[nodiscard]] std::string conflict() const {
    // Reached only with hints that the kubelet's managers never give, such as an empty mask.
    if (explanation_.responsible.empty()) return "no set of NUMA nodes satisfies every resource";
    std::vector<std::string> parts;
    bool all_fit = true;
    for (const std::string& resource : explanation_.responsible) {
      const HintSummary& its = hints_of(resource);
      all_fit = all_fit && fits_somewhere(its);
      if (parts.empty() || !fits_somewhere(its)) {
        parts.push_back(hints(its));
      } else {
        parts.push_back(fmt::format("{} {}on {}", resource, its.masks.size() == 1 ? "only " : "",
                                    choice(its.masks)));
      }
    }
    std::string text = fmt::format("{}", fmt::join(parts, ", "));
    if (!all_fit) return text;
    return fmt::format("{}: no {} satisfies {}", text,
                       single() ? "single NUMA node" : "set of NUMA nodes",
                       parts.size() == 2 ? "both" : "all");
  }

  [[nodiscard]] std::string aligned() const {
    std::vector<const HintSummary*> with_preference;
    std::vector<std::string> with_one_choice;
    for (const HintSummary& hints : explanation_.hints) {
      if (!has_preference(hints)) continue;
      with_preference.push_back(&hints);
      if (hints.masks.size() == 1) with_one_choice.push_back(hints.resource);
    }
    if (with_preference.empty()) return "no resource needs a NUMA node";
    const std::size_t choices = common_masks(with_preference).size();
    const NumaMask mask = explanation_.result.best.numa.value_or(NumaMask::all(1));
    std::string text = "aligned on NUMA " + nodes(mask);
    if (choices > 1) {
      return text +
             fmt::format(", the best of {} choices that suit every resource{}", choices, scores());
    }
    if (!with_one_choice.empty()) {
      return text + fmt::format(", the only choice for {}", fmt::join(with_one_choice, " and "));
    }
    return text + ", the only choice that suits every resource";
  }

  // "; least-allocated: 25 %, NUMA 0 has 75 %"
  [[nodiscard]] std::string scores() const {
    if (explanation_.scores.empty() || explanation_.scores.front().score == 0) return "";
    std::string text;
    for (const ScoredNodes& one : explanation_.scores) {
      const auto index = static_cast<std::size_t>(&one - explanation_.scores.data());
      if (index == 0) {
        text = fmt::format("; {}: {} %", to_string(manager_.options().numa_allocation_strategy),
                           one.score);
      } else if (index < kMostNamed) {
        text += fmt::format(", NUMA {} has {} %", nodes(one.nodes), one.score);
      }
    }
    return text;
  }

  const TopologyManager& manager_;
  const MergeExplanation& explanation_;
};

}  // namespace

MergeExplanation explain_merge(const TopologyManager& manager,
                               std::span<const ResourceHints> providers, const MergedHint& result,
                               const HintCauses& causes, const UsageByResource& usage) {
  MergeExplanation explanation;
  explanation.result = result;
  if (manager.policy() == TopologyPolicy::kNone) return explanation;
  for (const align::HintsOfResource& hints : align::filter_hints(providers)) {
    if (hints.resource.empty()) continue;
    HintSummary& summary = explanation.hints.emplace_back(summarize(hints, manager.policy()));
    const auto cause = causes.find(summary.resource);
    const bool is_impossible = summary.kind == HintSummary::Kind::kImpossible;
    if (is_impossible && cause != causes.end()) summary.cause = cause->second;
  }
  if (result.best.preferred) {
    explanation.scores = scored(manager, providers, explanation, usage);
    return explanation;
  }
  explanation.responsible = responsible_for(explanation.hints);
  explanation.changes = fewest_changes(explanation.hints);
  return explanation;
}

std::vector<std::string> sentences(const TopologyManager& manager,
                                   const MergeExplanation& explanation) {
  if (manager.policy() == TopologyPolicy::kNone) return {"policy none: nothing is aligned"};
  const Wording wording(manager, explanation);
  std::vector<std::string> out;
  for (const HintSummary& hints : explanation.hints) out.push_back(wording.hints(hints));
  out.push_back(wording.result());
  for (const AlignmentChange& change : explanation.changes) out.push_back(wording.change(change));
  return out;
}

}  // namespace pinfold
