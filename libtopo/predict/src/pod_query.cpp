#include "pinfold/predict/pod_query.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "aligned_resources.hpp"
#include "pinfold/align/topology_manager.hpp"
#include "pinfold/api/config.hpp"
#include "pinfold/decide/pod_totals.hpp"
#include "pinfold/place/merge.hpp"
#include "scoring.hpp"

namespace pinfold {
namespace {

std::string zone_list(const Fleet& fleet, std::size_t node, NumaMask zones) {
  std::vector<std::string> names;
  for (const int zone : zones.positions()) names.push_back(fleet.zone_name(node, zone));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string counted_zones(int count) {
  return fmt::format("{} zone{}", count, count == 1 ? "" : "s");
}

}  // namespace

PodQuery::PodQuery(const Fleet& fleet, const PodSpec& pod) : fleet_(&fleet) {
  pod_.items.push_back({"", true, requests_of(predict::aligned_by_pod(pod))});
  for (Request& request : pod_.items.front().requests) {
    if (predict::leaves_no_shared_pool(pod, fleet_->resource_name(request.resource))) {
      request.amount = kNever;
    }
  }
  for (const Container& container : pod.containers) {
    containers_.items.push_back({container.name, container.kind != ContainerKind::kInit,
                                 requests_of(predict::aligned_by_container(pod, container))});
  }
  whole_.items.push_back({"", true, requests_of(total_requests(FeatureGates{}, pod))});
  make_plans(whole_);
  make_plans(pod_);
  make_plans(containers_);
}

std::vector<PodQuery::Request> PodQuery::requests_of(const ResourceList& amounts) const {
  std::vector<Request> requests;
  for (const auto& [name, amount] : amounts) {
    const auto id = fleet_->resource_id(name);  // nullopt: no node reports it by zone
    const std::int64_t units = fleet_units(name, amount, Rounding::kUp);
    if (id && units > 0) requests.push_back({*id, units});
  }
  return requests;
}

void PodQuery::make_plans(Scope& scope) const {
  for (std::size_t shape = 0; shape < fleet_->shape_count(); ++shape) {
    const auto reported = fleet_->resources_of_shape(shape);
    Plan& plan = scope.plans.emplace_back();
    for (const Item& item : scope.items) {
      auto& requests = plan.emplace_back();
      for (const Request& request : item.requests) {
        const auto row = std::lower_bound(reported.begin(), reported.end(), request.resource);
        if (row == reported.end() || *row != request.resource) continue;
        const std::string& name = fleet_->resource_name(request.resource);
        requests.push_back({static_cast<std::size_t>(row - reported.begin()), request.amount,
                            is_memory_resource(name), name == "cpu"});
      }
    }
  }
}

void PodQuery::take(std::size_t node, const std::vector<RowRequest>& requests, NumaMask zones,
                    Placement* placement) {
  const auto zone_count = static_cast<std::size_t>(fleet_->zone_count(node));
  for (const RowRequest& request : requests) {
    std::int64_t missing = request.amount;
    for (const int zone : zones.positions()) {
      std::int64_t& rest = rest_[request.row * zone_count + static_cast<std::size_t>(zone)];
      const std::int64_t part = std::clamp<std::int64_t>(rest, 0, missing);
      rest -= part;
      missing -= part;
      if (placement != nullptr) {
        placement->add(zone, fleet_->resources_of_shape(fleet_->shape_number(node))[request.row],
                       part);
      }
    }
  }
}

NumaMask PodQuery::align(const ZoneEvaluator& evaluator, int zones, bool takes_cpus) {
  required_ = takes_cpus && reusable_.most > 0 ? reusable_.zones : NumaMask();
  const NumaMask bound = evaluator.evaluate(zones, demands_, required_, scratch_);
  if (required_.empty() || reusable_.least > 0) return bound;
  required_ = {};
  const NumaMask free = evaluator.evaluate(zones, demands_, required_, scratch_);
  is_unsure_ = is_unsure_ || free != bound;
  return free;
}

void PodQuery::note_cpus(std::size_t node, const RowRequest& cpu, NumaMask zones, bool keeps) {
  const std::int64_t* const rest =
      rest_.data() + cpu.row * static_cast<std::size_t>(fleet_->zone_count(node));
  std::int64_t free = 0;
  for (const int zone : (zones | reusable_.zones).positions()) free += rest[zone];
  const bool are_the_same = reusable_.is_untouched && zones == reusable_.zones &&
                            reusable_.least == cpu.amount && reusable_.most == cpu.amount;
  if (!keeps) {
    if (are_the_same) return;
    reusable_ = {zones | reusable_.zones, std::max(reusable_.least, cpu.amount),
                 std::min(reusable_.most + cpu.amount, free), reusable_.most == 0};
  } else if (are_the_same || !zones.contains_all(reusable_.zones)) {
    reusable_ = {};  // elsewhere: then none was left
  } else {
    reusable_ = {reusable_.zones, std::max<std::int64_t>(0, reusable_.least - cpu.amount),
                 std::min(reusable_.most, free - cpu.amount), false};
  }
}

template <class Visit>
std::size_t PodQuery::walk(std::size_t node, Visit&& visit) {
  const ZoneEvaluator& evaluator = *evaluator_of(fleet_->policy(node));
  const Scope& scope = scope_of(node);
  const Plan& plan = scope.plans[fleet_->shape_number(node)];
  const Fleet::Rows rows = fleet_->rows(node);
  const auto zones = static_cast<std::size_t>(rows.zones);
  const bool shares = plan.size() > 1;
  reusable_ = {};
  is_unsure_ = false;
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
    const auto cpu = std::find_if(plan[item].begin(), plan[item].end(),
                                  [](const RowRequest& request) { return request.is_cpu; });
    const bool takes_cpus = shares && cpu != plan[item].end();
    const NumaMask mask = align(evaluator, rows.zones, takes_cpus);
    if (mask.empty()) return item;
    visit(item, mask);
    const bool keeps = scope.items[item].keeps;
    if (takes_cpus) note_cpus(node, *cpu, mask, keeps);
    if (shares && keeps) take(node, plan[item], mask, nullptr);
  }
  return plan.size();
}

Prediction PodQuery::predict(std::size_t node, ScoringStrategy strategy) {
  const TopologyPolicy policy = fleet_->policy(node);
  if (fleet_->zone_count(node) == 0) return {};
  constexpr Prediction kRejection{PredictedOutcome::kRejected, 0, {}};
  if (policy == TopologyPolicy::kNone) return shortage(node) ? kRejection : Prediction{};
  const Plan& plan = scope_of(node).plans[fleet_->shape_number(node)];
  predict::Scoring scoring(strategy);
  const std::size_t fitting =
      walk(node, [&](std::size_t /*item*/, NumaMask zones) { scoring.add(zones, demands_); });
  const bool needs_alignment = !place::admits(policy, {std::nullopt, /*preferred=*/false});
  const bool is_aligned = fitting == plan.size();
  if (needs_alignment && !is_aligned && !is_unsure_) return kRejection;
  if (shortage(node)) return kRejection;
  auto outcome = is_unsure_ ? PredictedOutcome::kUnsure : PredictedOutcome::kFits;
  if (!needs_alignment) outcome = PredictedOutcome::kPasses;
  if (!is_aligned) return {outcome, 0, {}};
  if (scoring.zones().empty()) return {};
  return {outcome, scoring.score(), scoring.zones()};
}

AnswerGroup PodQuery::group(std::size_t node, const Prediction& prediction) const {
  if (fleet_->zone_count(node) == 0) return AnswerGroup::kNoZones;
  if (!prediction.admits()) {
    return shortage(node) ? AnswerGroup::kTooLittle : AnswerGroup::kCannotAlign;
  }
  return prediction.zones.empty() ? AnswerGroup::kNotAligned : AnswerGroup::kAligned;
}

bool PodQuery::requests_zones(std::size_t node) const {
  const Plan& plan = scope_of(node).plans[fleet_->shape_number(node)];
  return std::any_of(plan.begin(), plan.end(), [](const auto& item) { return !item.empty(); });
}

std::optional<PodQuery::Shortage> PodQuery::shortage(std::size_t node) const {
  const Fleet::Rows rows = fleet_->rows(node);
  const std::size_t shape = fleet_->shape_number(node);
  // Zones exclude whole reserved CPUs; the kubelet's check of requests subtracts the exact reserved
  // amount, which is up to 999 thousandths less.
  constexpr std::int64_t kPartOfCpu = 999;
  const auto find = [&](const Scope& scope, const std::int64_t* amounts,
                        bool is_whole) -> std::optional<Shortage> {  // whole: exclusive CPUs
    for (const RowRequest& request : scope.plans[shape].front()) {
      if (request.amount == kNever) continue;
      const std::int64_t* const first =
          amounts + request.row * static_cast<std::size_t>(rows.zones);
      const auto total = std::accumulate(first, first + rows.zones, std::int64_t{0});
      if (total + (request.is_cpu && !is_whole ? kPartOfCpu : 0) >= request.amount) continue;
      return Shortage{request.row, request.amount, total, is_whole};
    }
    return std::nullopt;
  };
  if (auto found = find(whole_, rows.allocatable, false)) return found;
  return find(pod_, rows.available, true);
}

void PodQuery::predict_all(ScoringStrategy strategy, std::vector<Prediction>& predictions) {
  predictions.resize(fleet_->size());
  for (std::size_t node = 0; node < predictions.size(); ++node) {
    predictions[node] = predict(node, strategy);
  }
}

Placement PodQuery::place(std::size_t node) {
  if (fleet_->zone_count(node) == 0 || fleet_->policy(node) == TopologyPolicy::kNone ||
      shortage(node)) {
    return {};
  }
  const Scope& scope = scope_of(node);
  const Plan& plan = scope.plans[fleet_->shape_number(node)];
  const Fleet::Rows rows = fleet_->rows(node);
  Placement placement;
  std::vector<NumaMask> masks(plan.size());
  const std::size_t fitting =
      walk(node, [&](std::size_t item, NumaMask zones) { masks[item] = zones; });
  if (fitting != plan.size()) return {};
  rest_.assign(rows.available, rows.available + rows.count);
  for (std::size_t item = 0; item < plan.size(); ++item) {
    if (scope.items[item].keeps) take(node, plan[item], masks[item], &placement);
  }
  return placement;
}

std::string PodQuery::explain(std::size_t node) {
  const TopologyPolicy policy = fleet_->policy(node);
  if (fleet_->zone_count(node) == 0) return "the node reports no zones: nothing is predicted";
  if (const auto lacks = shortage(node)) return shortage_text(node, *lacks);
  if (policy == TopologyPolicy::kNone) return "policy none aligns nothing";
  const Scope& scope = scope_of(node);
  const Plan& plan = scope.plans[fleet_->shape_number(node)];
  std::vector<std::string> aligned;
  const std::size_t fitting = walk(node, [&](std::size_t item, NumaMask zones) {
    const std::string& name = scope.items[item].name;
    aligned.push_back((name.empty() ? "" : fmt::format("container '{}': ", name)) +
                      zone_list(*fleet_, node, zones));
  });
  const bool is_aligned = fitting == plan.size();
  const std::string unsure =
      is_unsure_ ? "; it depends on which CPUs the init containers leave to the others" : "";
  if (is_aligned) {
    return aligned.empty() ? "the node reports nothing by zone that the pod would align"
                           : fmt::format("{}{}", fmt::join(aligned, "; "), unsure);
  }
  const std::string& name = scope.items[fitting].name;
  return (policy == TopologyPolicy::kBestEffort ? "not aligned: " : "") +
         (name.empty() ? "pod: " : fmt::format("container '{}': ", name)) +
         why_not_aligned(node, plan[fitting]) + unsure;
}

std::string PodQuery::shortage_text(std::size_t node, const Shortage& shortage) const {
  const auto reported = fleet_->resources_of_shape(fleet_->shape_number(node));
  const std::string& resource = fleet_->resource_name(reported[shortage.row]);
  return fmt::format("all zones together have {} {} {}, {} requested",
                     from_fleet_units(resource, shortage.total).to_string(), resource,
                     shortage.is_available ? "available" : "allocatable",
                     from_fleet_units(resource, shortage.amount).to_string());
}

std::string PodQuery::why_not_aligned(std::size_t node,
                                      const std::vector<RowRequest>& requests) const {
  const auto reported = fleet_->resources_of_shape(fleet_->shape_number(node));
  const int zones = fleet_->zone_count(node);
  const bool single = fleet_->policy(node) == TopologyPolicy::kSingleNumaNode;
  std::vector<std::string> amounts;
  std::vector<std::string> fits;
  std::vector<std::string> widths;
  int least = NumaMask::kMaxNodes;
  int most = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string& resource = fleet_->resource_name(reported[requests[i].row]);
    if (requests[i].amount == kNever) {
      return fmt::format("its exclusive containers leave no {} for its shared containers",
                         resource);
    }
    const std::string what =
        fmt::format("{} {}", resource, from_fleet_units(resource, requests[i].amount).to_string());
    const NumaMask where = zones_that_fit(zones, demands_[i]);
    const int width = preferred_width(zones, demands_[i]);
    amounts.push_back(what);
    fits.push_back(fmt::format("{} fits {}", resource,
                               where.empty() ? "none" : zone_list(*fleet_, node, where)));
    if (width == 0 && !single) return fmt::format("{} is more than all zones have", what);
    widths.push_back(fmt::format("{} prefers {}", what, counted_zones(width)));
    least = std::min(least, width);
    most = std::max(most, width);
  }
  const std::string all = fmt::format("{}", fmt::join(amounts, " and "));
  if (!required_.empty()) {
    return fmt::format("{} must be on {}, whose CPUs the init containers leave to it: {}", all,
                       zone_list(*fleet_, node, required_), fmt::join(fits, ", "));
  }
  if (single || most <= 1) {
    return fmt::format("no zone has {}: {}", all, fmt::join(fits, ", "));
  }
  if (least != most) {
    return fmt::format("{}: the resources prefer different numbers of zones",
                       fmt::join(widths, ", "));
  }
  return fmt::format("needs {}, and no {} have {} free", counted_zones(most), most, all);
}

std::string PodQuery::amounts_text(std::size_t node,
                                   const std::vector<RowRequest>& requests) const {
  const auto reported = fleet_->resources_of_shape(fleet_->shape_number(node));
  std::vector<std::string> amounts;
  for (const RowRequest& request : requests) {
    const std::string& resource = fleet_->resource_name(reported[request.row]);
    amounts.push_back(
        fmt::format("{} {}", resource, from_fleet_units(resource, request.amount).to_string()));
  }
  return fmt::format("{}", fmt::join(amounts, " and "));
}

NearMiss PodQuery::near_miss(std::size_t node) {
  if (fleet_->zone_count(node) == 0) return {};
  if (const auto lacks = shortage(node)) return total_miss(node, *lacks);
  if (fleet_->policy(node) == TopologyPolicy::kNone) return {};
  const Scope& scope = scope_of(node);
  const Plan& plan = scope.plans[fleet_->shape_number(node)];
  const std::size_t fitting = walk(node, [](std::size_t /*item*/, NumaMask /*zones*/) {});
  if (fitting == plan.size()) return {};
  NearMiss miss = zone_miss(node, plan[fitting]);
  const std::string& name = scope.items[fitting].name;
  if (!name.empty()) miss.why = fmt::format("container '{}': {}", name, miss.why);
  return miss;
}

NearMiss PodQuery::total_miss(std::size_t node, const Shortage& shortage) const {
  const auto reported = fleet_->resources_of_shape(fleet_->shape_number(node));
  const std::string& resource = fleet_->resource_name(reported[shortage.row]);
  const auto text = [&](std::int64_t amount) {
    return from_fleet_units(resource, amount).to_string();
  };
  return {fmt::format("all NUMA nodes together have less than {} {} {}", resource,
                      text(shortage.amount), shortage.is_available ? "free" : "allocatable"),
          fmt::format("it has {} {} of {}", resource,
                      text(std::max<std::int64_t>(0, shortage.total)), text(shortage.amount)),
          1 - static_cast<double>(shortage.total) / static_cast<double>(shortage.amount)};
}

std::vector<PodQuery::RowRequest> PodQuery::lacking_on(
    int zone, const std::vector<RowRequest>& requests) const {
  std::vector<RowRequest> lacking;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto available = std::max<std::int64_t>(0, demands_[i].available[zone]);
    if (available >= requests[i].amount) continue;
    RowRequest& lack = lacking.emplace_back(requests[i]);
    lack.amount -= available;
  }
  return lacking;
}

double PodQuery::distance_to(int zone) const {
  double distance = 0;
  for (const ZoneDemand& demand : demands_) {
    const auto available = std::clamp<std::int64_t>(demand.available[zone], 0, demand.amount);
    distance += 1 - static_cast<double>(available) / static_cast<double>(demand.amount);
  }
  return distance;
}

NearMiss PodQuery::zone_miss(std::size_t node, const std::vector<RowRequest>& requests) const {
  const int zones = fleet_->zone_count(node);
  const auto is_narrow = [&](const ZoneDemand& demand) {
    return fleet_->policy(node) == TopologyPolicy::kSingleNumaNode ||
           preferred_width(zones, demand) == 1;
  };
  const auto never = [](const RowRequest& request) { return request.amount == kNever; };
  if (!std::all_of(demands_.begin(), demands_.end(), is_narrow) ||
      std::any_of(requests.begin(), requests.end(), never)) {
    return {why_not_aligned(node, requests), "", static_cast<double>(requests.size())};
  }
  if (!required_.empty()) {
    return {why_not_aligned(node, requests), "", distance_to(required_.first())};
  }
  int nearest = 0;
  for (int zone = 1; zone < zones; ++zone) {
    if (distance_to(zone) < distance_to(nearest)) nearest = zone;
  }
  return {fmt::format("no NUMA node has {} free", amounts_text(node, requests)),
          fmt::format("{} lacks {}", fleet_->zone_name(node, nearest),
                      amounts_text(node, lacking_on(nearest, requests))),
          distance_to(nearest)};
}

std::string_view to_string(AnswerGroup group) {
  switch (group) {
    case AnswerGroup::kAligned:
      return "aligned";
    case AnswerGroup::kNotAligned:
      return "notAligned";
    case AnswerGroup::kNoZones:
      return "noZones";
    case AnswerGroup::kCannotAlign:
      return "cannotAlign";
    case AnswerGroup::kTooLittle:
      return "tooLittle";
  }
  return "";
}

std::string_view to_string(PredictedOutcome outcome) {
  switch (outcome) {
    case PredictedOutcome::kFits:
      return "fits";
    case PredictedOutcome::kUnsure:
      return "unsure";
    case PredictedOutcome::kPasses:
      return "passes";
    case PredictedOutcome::kRejected:
      return "rejected";
  }
  return "";
}

}  // namespace pinfold
