#include "pinfold/simulate/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

#include "dice.hpp"
#include "key_values.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::simulate {
namespace {

constexpr std::size_t kMaxPods = 1'000'000;
constexpr std::size_t kMaxLifetime = 10'000;  // percent

const Shape& pick(const Mix& mix, Dice& dice) {
  std::size_t weights = 0;
  for (const Shape& shape : mix.shapes) weights += shape.weight;
  std::size_t left = dice.below(weights);
  for (const Shape& shape : mix.shapes) {
    if (left < shape.weight) return shape;
    left -= shape.weight;
  }
  return mix.shapes.back();
}

PodSpec make_pod(const Shape& shape, std::size_t number) {
  constexpr std::int64_t kMib = std::int64_t{1024} * 1024;
  PodSpec pod;
  pod.namespace_name = "workload";
  pod.name = fmt::format("{}-{}", shape.name, number);
  pod.uid = PodUid(pod.namespace_name + "_" + pod.name);
  for (std::size_t i = 0; i < shape.containers; ++i) {
    Container container;
    container.name = fmt::format("c{}", i + 1);
    if (shape.qos != QosClass::kBestEffort) {
      container.resources.requests = {{"cpu", Quantity::milli(shape.milli_cpu)},
                                      {"memory", Quantity::bytes(shape.memory_mib * kMib)}};
    }
    if (shape.qos == QosClass::kGuaranteed) {
      container.resources.limits = container.resources.requests;
    }
    pod.containers.push_back(std::move(container));
  }
  return pod;
}

Result<void> set(Workload& workload, std::string_view key, std::string_view value) {
  if (key == "seed") {
    PINFOLD_LET_WRAP(workload.seed,
                     parse_number(value, 0, std::numeric_limits<std::uint64_t>::max()), "seed");
    return {};
  }
  if (key == "pods") {
    PINFOLD_LET_WRAP(workload.pods, parse_number(value, 1, kMaxPods), "pods");
    return {};
  }
  if (key == "lifetime") {
    PINFOLD_LET_WRAP(workload.lifetime, parse_number(value, 0, kMaxLifetime), "lifetime");
    return {};
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected seed=N, pods=N or lifetime=PERCENT", printable(key)));
}

Result<Mix> find_mix(std::string_view name) {
  std::string names;
  for (const Mix& mix : mixes()) {
    if (name == mix.name) return mix;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", mix.name);
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("mix '{}': expected one of {}", printable(name), names));
}

}  // namespace

Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && least <= value && value <= most) return value;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected {} to {}", printable(text), least, most));
}

const std::vector<Mix>& mixes() {
  constexpr auto kGuaranteed = QosClass::kGuaranteed;
  constexpr auto kBurstable = QosClass::kBurstable;
  constexpr auto kBestEffort = QosClass::kBestEffort;
  static const std::vector<Mix> kAll = {{"general",
                                         {{"web", kBurstable, 50, 1, 250, 512, 40},
                                          {"api", kGuaranteed, 25, 1, 2000, 2048, 30},
                                          {"db", kGuaranteed, 10, 1, 4000, 8192, 60},
                                          {"proxied", kGuaranteed, 10, 2, 1000, 1024, 30},
                                          {"batch", kBestEffort, 5, 1, 0, 0, 10}}},
                                        {"pinned",
                                         {{"one", kGuaranteed, 35, 1, 1000, 1024, 20},
                                          {"two", kGuaranteed, 25, 1, 2000, 2048, 20},
                                          {"three", kGuaranteed, 15, 1, 3000, 3072, 20},
                                          {"four", kGuaranteed, 15, 1, 4000, 4096, 20},
                                          {"pair", kGuaranteed, 10, 2, 2000, 2048, 20}}},
                                        {"large",
                                         {{"quarter", kGuaranteed, 50, 1, 8000, 16384, 8},
                                          {"half", kGuaranteed, 30, 1, 16000, 32768, 8},
                                          {"helper", kBurstable, 20, 1, 500, 1024, 8}}}};
  return kAll;
}

Result<Workload> parse_workload(std::string_view text) {
  const std::size_t colon = text.find(':');
  Workload workload;
  PINFOLD_LET(workload.mix, find_mix(text.substr(0, colon)));
  const std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  PINFOLD_TRY(read_key_values(rest, [&](std::string_view key, std::string_view value) {
    return set(workload, key, value);
  }));
  return workload;
}

std::vector<PodEvent> events_of(const Workload& workload) {
  constexpr std::size_t kPercent = 100;
  Dice dice(workload.seed);
  std::multimap<std::size_t, PodUid> ends;  // by the arrival before which they leave
  std::vector<PodEvent> events;
  for (std::size_t arrival = 0; arrival < workload.pods; ++arrival) {
    while (!ends.empty() && ends.begin()->first <= arrival) {
      events.emplace_back(std::move(ends.begin()->second));
      ends.erase(ends.begin());
    }
    const Shape& shape = pick(workload.mix, dice);
    PodSpec pod = make_pod(shape, arrival + 1);
    // From 1 to twice the mean. Always drawn, so that other lifetimes produce the same pods.
    const std::size_t life = 1 + dice.below(2 * shape.lifetime);
    if (workload.lifetime > 0) {
      const std::size_t scaled = std::max<std::size_t>(1, life * workload.lifetime / kPercent);
      ends.emplace(arrival + scaled, pod.uid);
    }
    events.emplace_back(std::move(pod));
  }
  return events;
}

}  // namespace pinfold::simulate
