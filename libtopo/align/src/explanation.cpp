#include "pinfold/align/explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "merge.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold {
namespace {

constexpr std::size_t kMostChanges = 3;
constexpr std::size_t kMostNamed = 4;

OfferView view(const align::Offer& offer, TopologyPolicy policy) {
  OfferView view;
  view.resource = offer.resource;
  std::vector<NumaMask> possible;
  bool anywhere = false;
  for (const TopologyHint& hint : offer.hints) {
    if (!hint.numa) {
      anywhere = anywhere || hint.preferred;
      continue;
    }
    possible.push_back(*hint.numa);
    const bool fits = policy != TopologyPolicy::kSingleNumaNode || hint.numa->count() == 1;
    if (hint.preferred && fits) view.masks.push_back(*hint.numa);
  }
  if (anywhere) return {view.resource, OfferView::Kind::kNoPreference, {}};
  view.kind = OfferView::Kind::kFit;
  if (!view.masks.empty()) return view;
  view.kind = possible.empty() ? OfferView::Kind::kImpossible : OfferView::Kind::kUnfit;
  int narrowest = NumaMask::kMaxNodes;
  for (const NumaMask mask : possible) narrowest = std::min(narrowest, mask.count());
  std::copy_if(possible.begin(), possible.end(), std::back_inserter(view.masks),
               [&](NumaMask mask) { return mask.count() == narrowest; });
  return view;
}

bool demands(const OfferView& offer) { return offer.kind != OfferView::Kind::kNoPreference; }
bool fits_somewhere(const OfferView& offer) { return offer.kind == OfferView::Kind::kFit; }

std::set<NumaMask> common_masks(std::span<const OfferView* const> offers) {
  std::set<NumaMask> common;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const std::set<NumaMask> masks(offers[i]->masks.begin(), offers[i]->masks.end());
    if (i == 0) common = masks;
    std::erase_if(common, [&](NumaMask mask) { return !masks.contains(mask); });
  }
  return common;
}

std::vector<std::string> responsible_for(const std::vector<OfferView>& offers) {
  std::vector<std::string> names;
  std::vector<const OfferView*> conflict;
  for (const OfferView& offer : offers) {
    if (!demands(offer)) continue;
    if (!fits_somewhere(offer)) names.push_back(offer.resource);
    conflict.push_back(&offer);
  }
  if (!names.empty()) return names;
  // Leave out one after the other as long as the rest still has nothing in common.
  for (std::size_t i = 0; i < conflict.size();) {
    std::vector<const OfferView*> rest = conflict;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    if (!rest.empty() && common_masks(rest).empty()) {
      conflict = std::move(rest);
    } else {
      ++i;
    }
  }
  for (const OfferView* const offer : conflict) names.push_back(offer->resource);
  return names;
}

std::vector<AlignmentChange> fewest_changes(const std::vector<OfferView>& offers) {
  std::map<NumaMask, std::size_t> users;
  std::size_t demanding = 0;
  for (const OfferView& offer : offers) {
    if (demands(offer)) ++demanding;
    if (!fits_somewhere(offer)) continue;
    for (const NumaMask mask : std::set<NumaMask>(offer.masks.begin(), offer.masks.end())) {
      ++users[mask];
    }
  }
  std::size_t most = 0;
  for (const auto& [mask, count] : users) most = std::max(most, count);
  std::vector<NumaMask> targets;
  for (const auto& [mask, count] : users) {
    if (count == most && count < demanding) targets.push_back(mask);
  }
  std::stable_sort(targets.begin(), targets.end(),
                   [](NumaMask a, NumaMask b) { return a.narrower_than(b); });
  targets.resize(std::min(targets.size(), kMostChanges));
  std::vector<AlignmentChange> changes;
  for (const NumaMask target : targets) {
    AlignmentChange change{target, {}};
    for (const OfferView& offer : offers) {
      const bool there = fits_somewhere(offer) && std::find(offer.masks.begin(), offer.masks.end(),
                                                            target) != offer.masks.end();
      if (demands(offer) && !there) change.resources.push_back(offer.resource);
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

/// The words for one merge: how its nodes are called, and what its policy calls aligned.
class Speaker {
 public:
  Speaker(const TopologyManager& manager, const MergeExplanation& explanation)
      : manager_(manager), explanation_(explanation) {}

  [[nodiscard]] std::string nodes(NumaMask mask) const {
    CpuSet ids;  // the list format of CPU ids does for node ids, too
    for (const int position : mask.positions()) {
      ids.insert(CpuId{manager_.numa_id(position).value});
    }
    return ids.to_string();
  }

  [[nodiscard]] std::string offer(const OfferView& offer) const {
    switch (offer.kind) {
      case OfferView::Kind::kNoPreference:
        return offer.resource + " may come from any NUMA node";
      case OfferView::Kind::kImpossible:
        return offer.resource + " fits on no NUMA nodes";
      case OfferView::Kind::kFit:
        return fmt::format("{} offers NUMA {}", offer.resource, choice(offer.masks));
      case OfferView::Kind::kUnfit:
        break;
    }
    const int width = offer.masks.front().count();
    if (single() && width > 1) {
      return fmt::format("{} needs {} NUMA nodes at least ({})", offer.resource, width,
                         choice(offer.masks));
    }
    return fmt::format("{} fits at best on NUMA {}, which is not preferred", offer.resource,
                       choice(offer.masks));
  }

  [[nodiscard]] std::string verdict() const {
    const MergedHint& result = explanation_.result;
    if (result.best.preferred) return aligned();
    std::string why = "not aligned: " + conflict();
    if (!result.admit) return why;
    return why + "; admitted on NUMA " + nodes(*result.best.numa);
  }

  [[nodiscard]] std::string change(const AlignmentChange& change) const {
    return fmt::format("NUMA {} would do if {} fitted there", nodes(change.nodes),
                       fmt::join(change.resources, " and "));
  }

 private:
  [[nodiscard]] bool single() const { return manager_.policy() == TopologyPolicy::kSingleNumaNode; }

  [[nodiscard]] std::string choice(const std::vector<NumaMask>& masks) const {
    std::vector<std::string> names;
    for (const NumaMask mask : masks) {
      if (names.size() == kMostNamed) break;
      names.push_back(nodes(mask));
    }
    std::string text = fmt::format("{}", fmt::join(names, " or "));
    if (masks.size() > kMostNamed) {
      text += fmt::format(" or {} more", masks.size() - kMostNamed);
    }
    return text;
  }

  [[nodiscard]] const OfferView& offer_of(const std::string& resource) const {
    return *std::find_if(explanation_.offers.begin(), explanation_.offers.end(),
                         [&](const OfferView& offer) { return offer.resource == resource; });
  }

  // "cpu offers NUMA 0 or 1, memory only 2: no single node satisfies both"
  [[nodiscard]] std::string conflict() const {
    // Only hints outside of the kubelet's can come to this: an empty set of nodes, for example.
    if (explanation_.responsible.empty()) return "no set of nodes satisfies every resource";
    std::vector<std::string> parts;
    bool all_fit = true;
    for (const std::string& resource : explanation_.responsible) {
      const OfferView& its = offer_of(resource);
      all_fit = all_fit && fits_somewhere(its);
      if (parts.empty() || !fits_somewhere(its)) {
        parts.push_back(offer(its));
      } else {
        parts.push_back(fmt::format("{} {}{}", resource, its.masks.size() == 1 ? "only " : "",
                                    choice(its.masks)));
      }
    }
    std::string text = fmt::format("{}", fmt::join(parts, ", "));
    if (!all_fit) return text;
    return fmt::format("{}: no {} satisfies {}", text,
                       single() ? "single node" : "one set of nodes",
                       parts.size() == 2 ? "both" : "all");
  }

  [[nodiscard]] std::string aligned() const {
    std::vector<const OfferView*> demanding;
    std::vector<std::string> narrowest;
    for (const OfferView& offer : explanation_.offers) {
      if (!demands(offer)) continue;
      demanding.push_back(&offer);
      if (offer.masks.size() == 1) narrowest.push_back(offer.resource);
    }
    if (demanding.empty()) return "nothing asks for a NUMA node";
    const std::size_t choices = common_masks(demanding).size();
    const NumaMask mask = explanation_.result.best.numa.value_or(NumaMask::all(1));
    std::string text = "aligned on NUMA " + nodes(mask);
    if (choices > 1) {
      return text + fmt::format(", the best of {} choices that suit every resource", choices);
    }
    if (!narrowest.empty()) {
      return text + fmt::format(", the only choice of {}", fmt::join(narrowest, " and "));
    }
    return text + ", the only choice that suits every resource";
  }

  const TopologyManager& manager_;
  const MergeExplanation& explanation_;
};

}  // namespace

MergeExplanation explain_merge(const TopologyManager& manager,
                               std::span<const ResourceHints> providers, const MergedHint& result) {
  MergeExplanation explanation;
  explanation.result = result;
  if (manager.policy() == TopologyPolicy::kNone) return explanation;
  for (const align::Offer& offer : align::collect_offers(providers)) {
    if (offer.resource.empty()) continue;
    explanation.offers.push_back(view(offer, manager.policy()));
  }
  if (result.best.preferred) return explanation;
  explanation.responsible = responsible_for(explanation.offers);
  explanation.changes = fewest_changes(explanation.offers);
  return explanation;
}

std::vector<std::string> say(const TopologyManager& manager, const MergeExplanation& explanation) {
  if (manager.policy() == TopologyPolicy::kNone) return {"policy none: nothing is aligned"};
  const Speaker speaker(manager, explanation);
  std::vector<std::string> sentences;
  for (const OfferView& offer : explanation.offers) sentences.push_back(speaker.offer(offer));
  sentences.push_back(speaker.verdict());
  for (const AlignmentChange& change : explanation.changes) {
    sentences.push_back(speaker.change(change));
  }
  return sentences;
}

}  // namespace pinfold
