#pragma once

#include "pinfold/predict/pod_query.hpp"

namespace pinfold {

template <class Visit>
std::size_t PodQuery::walk(std::size_t node, Visit&& visit) {
  const ZoneEvaluator& evaluator = *evaluator_of(fleet_->policy(node));
  const Scope& scope = scope_of(node);
  const Plan& plan = scope.plans[fleet_->shape_number(node)];
  const Fleet::Rows rows = fleet_->rows(node);
  const auto zones = static_cast<std::size_t>(rows.zones);
  const bool shares = plan.size() > 1;
  if (shares) rest_.assign(rows.available, rows.available + rows.count);
  const std::int64_t* const available = shares ? rest_.data() : rows.available;
  for (std::size_t item = 0; item < plan.size(); ++item) {
    if (plan[item].empty()) continue;
    demands_.clear();
    for (const RowRequest& request : plan[item]) {
      const std::size_t begin = request.row * zones;
      demands_.push_back({available + begin, rows.allocatable + begin, rows.reach + begin,
                          request.amount, request.is_memory});
    }
    const NumaMask mask = evaluator.evaluate(rows.zones, demands_, scratch_);
    if (mask.empty()) return item;
    visit(item, mask);
    if (shares && scope.items[item].keeps) take(node, plan[item], mask, nullptr);
  }
  return plan.size();
}

}  // namespace pinfold
