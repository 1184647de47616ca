#include "pinfold/predict/evaluator.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace pinfold {
namespace {

/// Returns the lowest zone that can hold every demand and is all of `required`; empty if there is
/// none.
NumaMask lowest_common_zone(int zones, std::span<const ZoneDemand> demands, NumaMask required) {
  NumaMask common = required.empty() ? NumaMask::all(zones) : required;
  for (const ZoneDemand& demand : demands) common = common & zones_that_fit(zones, demand);
  if (common.empty()) return common;
  const NumaMask lowest = NumaMask::of(common.first());
  return lowest.contains_all(required) ? lowest : NumaMask();
}

/// Evaluates single-numa-node.
class SingleZoneEvaluator final : public ZoneEvaluator {
 public:
  NumaMask evaluate(int zones, std::span<const ZoneDemand> demands, NumaMask required,
                    Scratch& /*scratch*/) const override {
    return lowest_common_zone(zones, demands, required);
  }
};

/// Tables of sums over masks of zones, four zones per step: a mask costs one addition per step.
constexpr int kStep = 4;
constexpr std::size_t kEntries = std::size_t{1} << kStep;

std::size_t table_size(int zones) {
  return static_cast<std::size_t>((zones + kStep - 1) / kStep) * kEntries;
}

void fill_table(int zones, const std::int64_t* amounts, std::int64_t* table) {
  for (int first = 0; first < zones; first += kStep, table += kEntries) {
    table[0] = 0;
    for (int i = 0; i < kStep; ++i) {
      const std::int64_t amount = first + i < zones ? amounts[first + i] : 0;
      const auto half = std::size_t{1} << i;
      for (std::size_t j = 0; j < half; ++j) table[half + j] = table[j] + amount;
    }
  }
}

std::int64_t sum_of(const std::int64_t* table, NumaMask mask) {
  std::int64_t sum = 0;
  for (std::uint64_t rest = mask.bits(); rest != 0; rest >>= kStep, table += kEntries) {
    sum += table[rest & (kEntries - 1)];
  }
  return sum;
}

/// Sums the amounts of several demands over masks of zones.
class Sums {
 public:
  /// `amounts` is the member of ZoneDemand to sum up.
  Sums(int zones, std::span<const ZoneDemand> demands, const std::int64_t* ZoneDemand::*amounts,
       ZoneEvaluator::Scratch& scratch)
      : demands_(demands), size_(table_size(zones)) {
    if (scratch.size() < size_ * demands.size()) scratch.resize(size_ * demands.size());
    tables_ = scratch.data();
    for (std::size_t i = 0; i < demands.size(); ++i) {
      fill_table(zones, demands[i].*amounts, scratch.data() + i * size_);
    }
  }

  template <class Filter>
  [[nodiscard]] bool hold(NumaMask mask, const Filter& counts) const {
    for (std::size_t i = 0; i < demands_.size(); ++i) {
      if (counts(demands_[i]) && sum_of(tables_ + i * size_, mask) < demands_[i].amount) {
        return false;
      }
    }
    return true;
  }

 private:
  std::span<const ZoneDemand> demands_;
  std::size_t size_;
  const std::int64_t* tables_ = nullptr;
};

bool is_memory(const ZoneDemand& demand) { return demand.is_memory; }

std::int64_t sum_of_lowest(const std::int64_t* amounts, int width) {
  return std::accumulate(amounts, amounts + width, std::int64_t{0});
}

/// Returns false if even the `width` zones with the most available cannot hold the demand. Cheaper
/// than trying every set of zones.
bool may_hold(int zones, int width, const ZoneDemand& demand) {
  std::array<std::int64_t, NumaMask::kMaxNodes> amounts;  // NOLINT: only the filled part is read
  std::int64_t* const end = std::copy_n(demand.available, zones, amounts.data());
  std::nth_element(amounts.data(), amounts.data() + width - 1, end, std::greater<>());
  return sum_of_lowest(amounts.data(), width) >= demand.amount;
}

/// Evaluates restricted and best-effort: finds the lowest mask that is a preferred hint for every
/// demand.
class CommonMaskEvaluator final : public ZoneEvaluator {
 public:
  NumaMask evaluate(int zones, std::span<const ZoneDemand> demands, NumaMask required,
                    Scratch& scratch) const override {
    const int width = common_width(zones, demands, scratch);
    if (width == 0) return {};
    if (width == 1) return lowest_common_zone(zones, demands, required);
    for (const ZoneDemand& demand : demands) {
      if (!may_hold(zones, width, demand)) return {};
    }
    const Sums free(zones, demands, &ZoneDemand::available, scratch);
    return lowest_hint_mask(zones, width, [&](NumaMask mask) {
      return mask.contains_all(required) && free.hold(mask, [](const ZoneDemand&) { return true; });
    });
  }

 private:
  /// Returns the width that all demands prefer; 0 if they prefer different ones.
  static int common_width(int zones, std::span<const ZoneDemand> demands, Scratch& scratch) {
    int others = 0;  // 0: no demand so far
    int memory = 0;
    int kinds_of_memory = 0;
    for (const ZoneDemand& demand : demands) {
      const int width = preferred_width(zones, demand);
      if (width == 0) return 0;
      if (demand.is_memory) {
        memory = std::max(memory, width);
        ++kinds_of_memory;
      } else if (others == 0) {
        others = width;
      } else if (others != width) {
        return 0;
      }
    }
    if (kinds_of_memory == 0) return others;
    if (kinds_of_memory > 1) memory = joint_width(zones, memory, demands, scratch);
    return others == 0 || others == memory ? memory : 0;
  }

  /// Returns the fewest zones, at least `least`, that can hold all kinds of memory; 0 if no set
  /// can.
  static int joint_width(int zones, int least, std::span<const ZoneDemand> demands,
                         Scratch& scratch) {
    const bool alike = std::all_of(demands.begin(), demands.end(), [&](const ZoneDemand& demand) {
      return !demand.is_memory || sum_of_lowest(demand.allocatable, least) >= demand.amount;
    });
    if (alike) return least;
    const Sums all(zones, demands, &ZoneDemand::allocatable, scratch);
    for (int width = least; width <= zones; ++width) {
      const auto holds = [&](NumaMask mask) { return all.hold(mask, is_memory); };
      if (!lowest_hint_mask(zones, width, holds).empty()) return width;
    }
    return 0;
  }
};

}  // namespace

const ZoneEvaluator* evaluator_of(TopologyPolicy policy) {
  static const SingleZoneEvaluator kSingle;
  static const CommonMaskEvaluator kCommon;
  switch (policy) {
    case TopologyPolicy::kSingleNumaNode:
      return &kSingle;
    case TopologyPolicy::kRestricted:
    case TopologyPolicy::kBestEffort:
      return &kCommon;
    case TopologyPolicy::kNone:
      break;
  }
  return nullptr;
}

int preferred_width(int zones, const ZoneDemand& demand) {
  const std::int64_t* const end = demand.reach + zones;
  const std::int64_t* const enough =
      std::find_if(demand.reach, end, [&](std::int64_t amount) { return amount >= demand.amount; });
  return enough == end ? 0 : static_cast<int>(enough - demand.reach) + 1;
}

NumaMask zones_that_fit(int zones, const ZoneDemand& demand) {
  std::uint64_t bits = 0;
  for (int zone = 0; zone < zones; ++zone) {
    bits |= std::uint64_t{demand.available[zone] >= demand.amount} << zone;
  }
  return NumaMask(bits);
}

}  // namespace pinfold
