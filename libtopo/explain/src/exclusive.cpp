#include "exclusive.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "pinfold/api/validation.hpp"
#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

/// Whether memory that a container does not set may be filled in: any amount makes it Guaranteed.
enum class Memory { kAsSet, kExample };

constexpr Quantity kExampleMemory = Quantity::bytes(std::int64_t{1} << 30U);

/// Makes requests and limits of CPU and memory equal; false if an amount is missing.
bool equalize(Resources& resources, Memory memory) {
  for (const std::string name : {"cpu", "memory"}) {
    const Quantity limit = amount_of(resources.limits, name);
    Quantity amount = limit.is_zero() ? amount_of(resources.requests, name) : limit;
    if (amount.is_zero() && name == "memory" && memory == Memory::kExample) amount = kExampleMemory;
    if (amount.is_zero()) return false;
    resources.requests[name] = amount;
    resources.limits[name] = amount;
  }
  return true;
}

/// Rounds the CPUs of a container with more than one up to a whole number.
void round_up(Resources& resources) {
  const Quantity cpu = amount_of(resources.limits, "cpu");
  if (cpu.is_whole() || cpu.milli_value() < 1000) return;
  const Quantity whole = Quantity::of(cpu.value(), Quantity::Format::kDecimalSi);
  resources.requests["cpu"] = whole;
  resources.limits["cpu"] = whole;
}

/// Returns the pod as it would have to be for most of its containers to get exclusive CPUs.
std::optional<PodSpec> made_guaranteed(PodSpec pod, Memory memory) {
  if (pod.resources && !equalize(*pod.resources, Memory::kAsSet)) return std::nullopt;
  for (Container& container : pod.containers) {
    const bool is_equal = equalize(container.resources, memory);
    if (!is_equal && !pod.resources) return std::nullopt;
    if (is_equal) round_up(container.resources);
  }
  return pod;
}

std::string written(const Quantity& amount) {
  return amount.is_zero() ? "none" : amount.to_string();
}

/// Adds what differs: "container c: memory request 1Gi -> 2Gi", or "container c: cpu 1500m -> 2
/// (requests and limits)" if both were equal before.
void add_differences(const std::string& object, const Resources& before, const Resources& after,
                     std::vector<std::string>& all) {
  for (const std::string name : {"cpu", "memory"}) {
    const auto add = [&](const char* what, const ResourceList& old, const ResourceList& now,
                         const char* where) {
      const Quantity from = amount_of(old, name);
      const Quantity to = amount_of(now, name);
      if (from == to) return;
      all.push_back(fmt::format("{}: {}{} {} -> {}{}", object, name, what, written(from),
                                written(to), where));
    };
    const Quantity limit = amount_of(before.limits, name);
    if (limit == amount_of(before.requests, name)) {
      add("", before.limits, after.limits,
          limit.is_zero() ? ", for example (requests and limits)" : " (requests and limits)");
    } else {
      add(" request", before.requests, after.requests, "");
      add(" limit", before.limits, after.limits, "");
    }
  }
}

std::vector<std::string> differences(const PodSpec& before, const PodSpec& after) {
  std::vector<std::string> all;
  if (before.resources) {
    add_differences("the pod as a whole", *before.resources, *after.resources, all);
  }
  for (std::size_t i = 0; i < before.containers.size(); ++i) {
    add_differences("container " + before.containers[i].name, before.containers[i].resources,
                    after.containers[i].resources, all);
  }
  return all;
}

/// Returns "container c then has 4 exclusive CPUs" for each container that gains them.
std::vector<std::string> gains(const Node& node, const PodSpec& before, const PodSpec& after) {
  const PodView old(before);
  const PodView now(after);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < before.containers.size(); ++i) {
    const int count = node.cpu().guaranteed_cpus(now, after.containers[i]);
    if (count == 0 || node.cpu().guaranteed_cpus(old, before.containers[i]) > 0) continue;
    all.push_back(fmt::format("container {} then has {} exclusive CPU{}", after.containers[i].name,
                              count, count == 1 ? "" : "s"));
  }
  return all;
}

}  // namespace

std::vector<Remedy> ways_to_exclusive_cpus(const Node& node, const NodeState& state,
                                           const PodSpec& pod) {
  if (!node.cpu().is_static()) return {};
  for (const Memory memory : {Memory::kAsSet, Memory::kExample}) {
    auto other = made_guaranteed(pod, memory);
    if (!other || *other == pod || !find_violations(*other).empty()) continue;
    const std::vector<std::string> gained = gains(node, pod, *other);
    if (gained.empty()) continue;
    const Decision decision =
        decide(node, state, *other, nullptr, nullptr, AdmissionChecks::kManagersAndRequests);
    if (!std::holds_alternative<Admitted>(decision)) continue;
    std::string text = listed(differences(pod, *other)) + "; " + listed(gained);
    return {Remedy{Remedy::Kind::kRequest, std::move(text), std::move(other), {}, std::nullopt}};
  }
  return {};
}

}  // namespace pinfold::explain_detail
