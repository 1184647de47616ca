#include "pinfold/predict/pod_query.hpp"

#include <algorithm>

#include "aligned_resources.hpp"
#include "pod_query_walk.hpp"
#include "scoring.hpp"

namespace pinfold {

PodQuery::PodQuery(const Fleet& fleet, const PodSpec& pod) : fleet_(&fleet) {
  pod_.items.push_back({"", true, wants_of(predict::aligned_by_pod(pod))});
  for (Want& want : pod_.items.front().wants) {
    if (predict::leaves_no_shared_pool(pod, fleet_->resource_name(want.resource))) {
      want.amount = kNever;
    }
  }
  for (const Container& container : pod.containers) {
    containers_.items.push_back({container.name, container.kind != ContainerKind::kInit,
                                 wants_of(predict::aligned_by_container(pod, container))});
  }
  make_plans(pod_);
  make_plans(containers_);
}

std::vector<PodQuery::Want> PodQuery::wants_of(const ResourceList& amounts) const {
  std::vector<Want> wants;
  for (const auto& [name, amount] : amounts) {
    const auto id = fleet_->resource_id(name);  // unknown: no node reports it by zone
    const std::int64_t units = fleet_units(name, amount, Rounding::kUp);
    if (id && units > 0) wants.push_back({*id, units});
  }
  return wants;
}

void PodQuery::make_plans(Scope& scope) const {
  for (std::size_t shape = 0; shape < fleet_->shape_count(); ++shape) {
    const auto reported = fleet_->resources_of_shape(shape);
    Plan& plan = scope.plans.emplace_back();
    for (const Item& item : scope.items) {
      auto& wants = plan.emplace_back();
      for (const Want& want : item.wants) {
        const auto row = std::lower_bound(reported.begin(), reported.end(), want.resource);
        if (row == reported.end() || *row != want.resource) continue;
        wants.push_back({static_cast<std::size_t>(row - reported.begin()), want.amount,
                         is_memory_resource(fleet_->resource_name(want.resource))});
      }
    }
  }
}

void PodQuery::take(std::size_t node, const std::vector<RowWant>& wants, NumaMask zones,
                    Placement* placement) {
  const auto zone_count = static_cast<std::size_t>(fleet_->zone_count(node));
  for (const RowWant& want : wants) {
    std::int64_t missing = want.amount;
    for (const int zone : zones.positions()) {
      std::int64_t& rest = rest_[want.row * zone_count + static_cast<std::size_t>(zone)];
      const std::int64_t part = std::clamp<std::int64_t>(rest, 0, missing);
      rest -= part;
      missing -= part;
      if (placement != nullptr) {
        placement->add(zone, fleet_->resources_of_shape(fleet_->shape_number(node))[want.row],
                       part);
      }
    }
  }
}

Verdict PodQuery::ask(std::size_t node, ScoringStrategy strategy) {
  const TopologyPolicy policy = fleet_->policy(node);
  if (policy == TopologyPolicy::kNone || fleet_->zone_count(node) == 0) return {};
  const Plan& plan = scope_of(node).plans[fleet_->shape_number(node)];
  predict::Scoring scoring(strategy);
  const std::size_t fitting =
      walk(node, [&](std::size_t /*item*/, NumaMask zones) { scoring.add(zones, demands_); });
  const bool rejects = policy != TopologyPolicy::kBestEffort;
  if (fitting < plan.size()) return {rejects ? Answer::kRefused : Answer::kPasses, 0, NumaMask()};
  if (scoring.zones().empty()) return {};
  return {rejects ? Answer::kFits : Answer::kPasses, scoring.score(), scoring.zones()};
}

void PodQuery::ask_all(ScoringStrategy strategy, std::vector<Verdict>& verdicts) {
  verdicts.resize(fleet_->size());
  for (std::size_t node = 0; node < verdicts.size(); ++node) verdicts[node] = ask(node, strategy);
}

Placement PodQuery::place(std::size_t node) {
  if (ask(node, ScoringStrategy::kLeastNumaNodes).zones.empty()) return {};
  const Scope& scope = scope_of(node);
  const Plan& plan = scope.plans[fleet_->shape_number(node)];
  const Fleet::Rows rows = fleet_->rows(node);
  Placement placement;
  std::vector<NumaMask> masks(plan.size());
  (void)walk(node, [&](std::size_t item, NumaMask zones) { masks[item] = zones; });
  rest_.assign(rows.available, rows.available + rows.count);
  for (std::size_t item = 0; item < plan.size(); ++item) {
    if (scope.items[item].keeps) take(node, plan[item], masks[item], &placement);
  }
  return placement;
}

std::string_view to_string(Answer answer) {
  switch (answer) {
    case Answer::kFits:
      return "fits";
    case Answer::kPasses:
      return "passes";
    case Answer::kRefused:
      return "refused";
  }
  return "";
}

}  // namespace pinfold
