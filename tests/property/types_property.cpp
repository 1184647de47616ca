// Properties of the value types, against simple and slow models.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/numa_mask.hpp"
#include "pinfold/types/quantity.hpp"

namespace pinfold {
namespace {

using Ids = std::set<int>;
using Int128 = Quantity::Int128;

/// Ids that are often in one word, often at its limits, and sometimes far apart.
rc::Gen<Ids> arbitrary_ids() {
  return rc::gen::container<Ids>(
      rc::gen::oneOf(rc::gen::inRange(0, 8), rc::gen::inRange(60, 70), rc::gen::inRange(1020, 1030),
                     rc::gen::inRange(0, 300), rc::gen::inRange(0, CpuSet::kMaxCpus)));
}

CpuSet to_cpuset(const Ids& ids) {
  CpuSet set;
  for (const int id : ids) set.insert(CpuId{id});
  return set;
}

Ids to_ids(const CpuSet& set) {
  Ids ids;
  for (const CpuId cpu : set) ids.insert(cpu.value);
  return ids;
}

RC_GTEST_PROP(CpuSetProperty, HoldsWhatWasInserted, ()) {
  const Ids ids = *arbitrary_ids();
  const CpuSet set = to_cpuset(ids);
  RC_ASSERT(to_ids(set) == ids);
  RC_ASSERT(set.size() == ids.size());
  RC_ASSERT(set.empty() == ids.empty());
  const int probe = *rc::gen::inRange(-1, CpuSet::kMaxCpus + 1);
  RC_ASSERT(set.contains(CpuId{probe}) == (ids.count(probe) == 1));
  if (!ids.empty()) {
    RC_ASSERT(set.first().value == *ids.begin());
    RC_ASSERT(set.last().value == *ids.rbegin());
  }
}

RC_GTEST_PROP(CpuSetProperty, AlgebraMatchesStdSet, ()) {
  const Ids a = *arbitrary_ids();
  const Ids b = *arbitrary_ids();
  const CpuSet x = to_cpuset(a);
  const CpuSet y = to_cpuset(b);
  Ids both;
  Ids either;
  Ids only_a;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::inserter(either, either.end()));
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(only_a, only_a.end()));
  RC_ASSERT(to_ids(x & y) == both);
  RC_ASSERT(to_ids(x | y) == either);
  RC_ASSERT(to_ids(x - y) == only_a);
  RC_ASSERT(x.count_common(y) == both.size());
  RC_ASSERT(x.intersects(y) == !both.empty());
  RC_ASSERT(x.contains_all(y) == (both == b));
  RC_ASSERT((x == y) == (a == b));
  // Equality does not depend on the history of a set.
  RC_ASSERT(((x | y) - y) == (x - y));
  RC_ASSERT(((x - y) | (x & y)) == x);
}

RC_GTEST_PROP(CpuSetProperty, EraseAndInsertAreOpposites, ()) {
  const Ids ids = *arbitrary_ids();
  const int id = *rc::gen::inRange(0, CpuSet::kMaxCpus);
  CpuSet set = to_cpuset(ids);
  set.insert(CpuId{id});
  RC_ASSERT(set.contains(CpuId{id}));
  set.erase(CpuId{id});
  RC_ASSERT(set == to_cpuset(ids) - CpuSet::of(CpuId{id}));
}

RC_GTEST_PROP(CpuSetProperty, ReadsBackWhatItPrints, ()) {
  const CpuSet set = to_cpuset(*arbitrary_ids());
  RC_ASSERT(CpuSet::parse(set.to_string()).value() == set);
}

RC_GTEST_PROP(CpuSetProperty, ParsesRangesInAnyOrder, ()) {
  const auto starts = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 500));
  std::string text;
  Ids ids;
  for (const int start : starts) {
    const int last = start + *rc::gen::inRange(0, 80);
    if (!text.empty()) text += ',';
    text += std::to_string(start) + '-' + std::to_string(last);
    for (int id = start; id <= last; ++id) ids.insert(id);
  }
  RC_ASSERT(to_ids(CpuSet::parse(text).value()) == ids);
}

/// Mantissa and suffix of a quantity, and its value.
struct Sample {
  std::string text;
  Int128 nano = 0;
};
Sample arbitrary_quantity() {
  static const std::map<std::string, Int128> kUnits = {
      {"n", 1},
      {"u", 1'000},
      {"m", 1'000'000},
      {"", 1'000'000'000},
      {"k", 1'000'000'000'000},
      {"M", 1'000'000'000'000'000},
      {"G", 1'000'000'000'000'000'000},
      {"Ki", Int128{1024} * 1'000'000'000},
      {"Mi", Int128{1024} * 1024 * 1'000'000'000},
      {"Gi", Int128{1024} * 1024 * 1024 * 1'000'000'000},
      {"e3", 1'000'000'000'000},
      {"E-3", 1'000'000}};
  const auto whole = *rc::gen::arbitrary<std::int32_t>();
  const auto unit = *rc::gen::elementOf(kUnits);
  return {std::to_string(whole) + unit.first, Int128{whole} * unit.second};
}

RC_GTEST_PROP(QuantityProperty, HasTheValueOfItsText, ()) {
  const Sample sample = arbitrary_quantity();
  RC_LOG() << sample.text;
  RC_ASSERT(Quantity::parse(sample.text).value().nano() == sample.nano);
}

RC_GTEST_PROP(QuantityProperty, RoundsFractionsAwayFromZero, ()) {
  const auto whole = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  const auto digits = *rc::gen::container<std::string>(rc::gen::inRange('0', ':'));
  RC_LOG() << whole << '.' << digits;
  // The first nine digits count, rounded up if anything follows them.
  std::string kept = digits.substr(0, 9);
  kept.resize(9, '0');
  const bool rest = digits.size() > 9 && digits.find_first_not_of('0', 9) != std::string::npos;
  const Int128 nano = Int128{whole} * 1'000'000'000 + std::stoll(kept) + (rest ? 1 : 0);
  const std::string text = std::to_string(whole) + '.' + digits;
  RC_ASSERT(Quantity::parse(text).value().nano() == nano);
  RC_ASSERT(Quantity::parse("-" + text).value().nano() == -nano);
}

RC_GTEST_PROP(QuantityProperty, ReadsBackWhatItPrints, ()) {
  const auto quantity = Quantity::parse(arbitrary_quantity().text).value();
  const std::string printed = quantity.to_string();
  const auto again = Quantity::parse(printed).value();
  RC_LOG() << printed;
  RC_ASSERT(again == quantity);
  RC_ASSERT(again.to_string() == printed);
}

RC_GTEST_PROP(QuantityProperty, AddsAndComparesAsNumbers, ()) {
  const Sample a = arbitrary_quantity();
  const Sample b = arbitrary_quantity();
  RC_LOG() << a.text << ' ' << b.text;
  const auto x = Quantity::parse(a.text).value();
  const auto y = Quantity::parse(b.text).value();
  RC_ASSERT((x + y).nano() == a.nano + b.nano);
  RC_ASSERT((x - y).nano() == a.nano - b.nano);
  RC_ASSERT((x < y) == (a.nano < b.nano));
  RC_ASSERT((x == y) == (a.nano == b.nano));
}

RC_GTEST_PROP(QuantityProperty, ValuesAreTheNextWholeNumber, ()) {
  const Sample sample = arbitrary_quantity();
  RC_LOG() << sample.text;
  const auto quantity = Quantity::parse(sample.text).value();
  for (const auto& [value, unit] : {std::pair{quantity.value(), Int128{1'000'000'000}},
                                    std::pair{quantity.milli_value(), Int128{1'000'000}}}) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    if (value == kMost || value == -kMost) continue;  // capped
    const Int128 back = Int128{value} * unit;
    const Int128 above = sample.nano >= 0 ? back - sample.nano : sample.nano - back;
    RC_ASSERT((above >= 0 && above < unit));
  }
}

RC_GTEST_PROP(NumaMaskProperty, AlgebraIsThatOfSets, (std::uint64_t a, std::uint64_t b)) {
  const NumaMask x(a);
  const NumaMask y(b);
  Ids positions;
  for (const int position : x.positions()) positions.insert(position);
  Ids expected;
  for (int i = 0; i < NumaMask::kMaxNodes; ++i) {
    if (x.contains(i)) expected.insert(i);
    RC_ASSERT((x & y).contains(i) == (x.contains(i) && y.contains(i)));
    RC_ASSERT((x | y).contains(i) == (x.contains(i) || y.contains(i)));
    RC_ASSERT((x - y).contains(i) == (x.contains(i) && !y.contains(i)));
  }
  RC_ASSERT(positions == expected);
  RC_ASSERT(static_cast<std::size_t>(x.count()) == positions.size());
  RC_ASSERT(x.contains_all(y) == ((x | y) == x));
  RC_ASSERT(to_ids(CpuSet::parse(x.to_string()).value()) == positions);
}

RC_GTEST_PROP(NumaMaskProperty, NarrowerIsAStrictOrder, (std::uint64_t a, std::uint64_t b)) {
  const NumaMask x(a);
  const NumaMask y(b);
  RC_ASSERT(!x.narrower_than(x));
  RC_ASSERT(x == y || x.narrower_than(y) != y.narrower_than(x));
  RC_ASSERT(x.count() == y.count() || x.narrower_than(y) == (x.count() < y.count()));
}

Resources arbitrary_resources() {
  Resources resources;
  for (ResourceList* list : {&resources.requests, &resources.limits}) {
    for (const char* name : {"cpu", "memory", "hugepages-2Mi", "example.com/gpu"}) {
      if (!*rc::gen::arbitrary<bool>()) continue;
      const auto text = std::to_string(*rc::gen::inRange(0, 100'000));
      const auto suffix = *rc::gen::element<std::string>("", "m", "Mi", "Gi", "k", "e3");
      list->emplace(name, Quantity::parse(text + suffix).value());
    }
  }
  return resources;
}

PodSpec arbitrary_pod() {
  PodSpec pod;
  pod.uid = PodUid("0b5e-" + std::to_string(*rc::gen::inRange(0, 100)));
  pod.name = *rc::gen::element<std::string>("web", "db.0", "a");
  pod.namespace_name = *rc::gen::element<std::string>("default", "kube-system");
  const int init = *rc::gen::inRange(0, 4);
  const int apps = *rc::gen::inRange(1, 4);
  for (int i = 0; i < init + apps; ++i) {
    const bool sidecar = *rc::gen::arbitrary<bool>();
    const auto kind = i >= init ? ContainerKind::kApp
                                : (sidecar ? ContainerKind::kSidecar : ContainerKind::kInit);
    pod.containers.push_back({"c" + std::to_string(i), kind, arbitrary_resources()});
  }
  if (*rc::gen::arbitrary<bool>()) pod.resources = arbitrary_resources();
  return pod;
}

RC_GTEST_PROP(PodProperty, ReadsBackWhatItPrints, ()) {
  const PodSpec pod = arbitrary_pod();
  const nlohmann::json printed = to_json(pod);
  RC_LOG() << printed.dump(2);
  RC_ASSERT(pod_from_json(printed).value() == pod);
  RC_ASSERT(parse_pod(printed.dump()).value() == pod);
}

RC_GTEST_PROP(PodProperty, DefaultsAreStable, ()) {
  PodSpec pod = arbitrary_pod();
  apply_defaults(pod);
  const PodSpec once = pod;
  apply_defaults(pod);
  RC_ASSERT(pod == once);
  for (const Container& container : pod.containers) {
    for (const auto& [name, limit] : container.resources.limits) {
      RC_ASSERT(container.resources.requests.count(name) == 1);
    }
  }
}

RC_GTEST_PROP(PodProperty, EveryContainerFitsIntoTheSum, ()) {
  const PodSpec pod = arbitrary_pod();
  const ResourceList sum = container_total(pod, &Resources::requests);
  for (const Container& container : pod.containers) {
    for (const auto& [name, quantity] : container.resources.requests) {
      RC_ASSERT(sum.at(name) >= quantity);
    }
  }
}

}  // namespace
}  // namespace pinfold
