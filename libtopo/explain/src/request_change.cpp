#include "request_change.hpp"

#include <fmt/format.h>

#include <cmath>

#include "words.hpp"

namespace pinfold::explain_detail {
namespace {

Resources& resources_to_change(PodSpec& pod, const Target& target) {
  return target ? pod.containers[*target].resources : *pod.resources;
}

bool limit_equals_request(const Resources& resources, const std::string& resource) {
  const auto limit = resources.limits.find(resource);
  return limit != resources.limits.end() &&
         limit->second == amount_of(resources.requests, resource);
}

/// Returns "15Gi"; "15G (14306Mi)" for memory in a notation that the rest of an explanation does
/// not use.
std::string amount_now(const RequestChange& change, AmountRounding rounding) {
  std::string text = readable(change.from, rounding);
  const bool is_other = is_memory_resource(change.resource) &&
                        change.from.format() != Quantity::Format::kBinarySi &&
                        change.from.is_whole();
  if (!is_other) return text;
  return fmt::format("{} ({})", text,
                     readable(Quantity::bytes(change.from.value()), AmountRounding::kUp));
}

}  // namespace

double RequestChange::size() const {
  const Quantity counted =
      loses_exclusive_cpus ? Quantity::of(to.value() - 1, Quantity::Format::kDecimalSi) : to;
  return std::abs(static_cast<double>((counted - from).nano())) / static_cast<double>(from.nano());
}

const Resources& resources_of(const PodSpec& pod, const Target& target) {
  return target ? pod.containers[*target].resources : *pod.resources;
}

Quantity requested(const PodSpec& pod, const Target& target, const std::string& resource) {
  return amount_of(resources_of(pod, target).requests, resource);
}

PodSpec changed(PodSpec pod, const std::vector<RequestChange>& changes) {
  for (const RequestChange& change : changes) {
    Resources& resources = resources_to_change(pod, change.target);
    if (change.to.is_zero()) {
      resources.requests.erase(change.resource);
      resources.limits.erase(change.resource);
      continue;
    }
    if (!change.keeps_limit && limit_equals_request(resources, change.resource)) {
      resources.limits[change.resource] = change.to;
    }
    resources.requests[change.resource] = change.to;
  }
  return pod;
}

std::string describe(const PodSpec& pod, const RequestChange& change) {
  const bool both = !change.keeps_limit &&
                    limit_equals_request(resources_of(pod, change.target), change.resource);
  const auto rounding = change.raises() ? AmountRounding::kUp : AmountRounding::kDown;
  return fmt::format(
      "{}: {} {} -> {} ({}{})",
      change.target ? "container " + pod.containers[*change.target].name : "the pod as a whole",
      change.resource, amount_now(change, rounding),
      change.to.is_zero() ? "none" : change.to.to_string(),
      both ? "requests and limits" : "requests",
      change.loses_exclusive_cpus ? "; it then has no exclusive CPUs" : "");
}

}  // namespace pinfold::explain_detail
