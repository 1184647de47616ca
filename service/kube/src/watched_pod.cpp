#include "pinfold/kube/watched_pod.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "pinfold/api/pod.hpp"
#include "pinfold/kube/kind.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::kube {
namespace {

using nlohmann::json;
using Amounts = std::vector<ZoneAmount>;

/// Returns the text at the path of members; "" if it is absent or something else.
std::string text_at(const json& object, std::initializer_list<std::string_view> path) {
  const json* at = &object;
  for (const std::string_view key : path) {
    at = at->is_object() ? member(*at, key) : nullptr;
    if (at == nullptr) return "";
  }
  return at->is_string() ? at->get<std::string>() : "";
}

Result<std::int64_t> read_amount(const std::string& path, const std::string& resource,
                                 const json& value) {
  PINFOLD_LET(const auto text, scalar_text(path, value));
  const auto amount = Quantity::parse(text);
  if (!amount) return fail_field(path, value, amount.error().message);
  if (amount->sign() < 0) return fail_field(path, value, "expected 0 or more");
  return base_units(resource, *amount);
}

Result<void> read_zone(const json& item, const std::string& path, Amounts& out) {
  if (!item.is_object()) return fail_field(path, item, "expected an object");
  const std::string zone = text_at(item, {"zone"});
  if (zone.empty()) return fail_field(path + ".zone", item, "expected the name of a zone");
  const json* const amounts = member(item, "amount");
  if (amounts == nullptr || !amounts->is_object()) {
    return fail_field(path + ".amount", item, "expected an object");
  }
  for (const auto& [resource, value] : amounts->items()) {
    PINFOLD_LET(const auto amount,
                read_amount(fmt::format("{}.amount.{}", path, resource), resource, value));
    out.push_back({zone, resource, amount});
  }
  return {};
}

void read_observed(const json& object, WatchedPod& pod) {
  const std::string text = text_at(object, {"metadata", "annotations", kObservedAnnotation});
  if (text.empty()) return;
  auto observed = parse_observed(text);
  if (observed) {
    pod.observed = *std::move(observed);
  } else {
    pod.warning = fmt::format("annotation '{}': {}", kObservedAnnotation, observed.error().message);
  }
}

}  // namespace

Result<std::optional<Amounts>> parse_observed(std::string_view text) {
  PINFOLD_LET(const auto document, parse_json(text, "value"));
  if (document.is_null()) return std::nullopt;
  if (!document.is_array()) return fail_field("value", document, "expected a list of zones");
  Amounts out;
  for (std::size_t i = 0; i < document.size(); ++i) {
    PINFOLD_TRY(read_zone(document[i], fmt::format("[{}]", i), out));
  }
  return out;
}

Result<WatchedPod> watched_pod_from_json(const json& object) {
  WatchedPod pod;
  PINFOLD_LET(pod.spec, pod_of_any_phase(object));
  apply_defaults(pod.spec);
  pod.node = text_at(object, {"spec", "nodeName"});
  const std::string phase = final_phase(object);
  pod.has_ended = !phase.empty();
  pod.is_rejected =
      phase == "Failed" && text_at(object, {"status", "reason"}) == "TopologyAffinityError";
  read_observed(object, pod);
  return pod;
}

}  // namespace pinfold::kube
