#include "pinfold/api/fields.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace pinfold {

using nlohmann::json;

std::span<const QosClass> enumerators(QosClass /*type*/) {
  static constexpr std::array kAll = {QosClass::kGuaranteed, QosClass::kBurstable,
                                      QosClass::kBestEffort};
  return kAll;
}

std::span<const Profile> enumerators(Profile /*type*/) { return kProfiles; }

void describe_value(fields::Fields& fields, PodSpec& pod) {
  fields.foreign({"Pod", "A v1 Pod of Kubernetes.", [&] { return to_json(pod); },
                  [&](const json& value) -> Result<void> {
                    PINFOLD_LET(pod, pod_from_json(value));
                    return {};
                  }});
}

void describe_value(fields::Fields& fields, Config& config) {
  fields.foreign({"KubeletConfiguration",
                  "A KubeletConfiguration of Kubernetes, with Pinfold's own settings in 'pinfold'.",
                  [&] { return to_json(config); },
                  [&](const json& value) -> Result<void> {
                    PINFOLD_LET(auto parsed, config_from_json(value));
                    config = std::move(parsed.config);
                    return {};
                  }});
}

void describe_amount(fields::Fields& fields, const char* name, const std::string& resource,
                     Quantity& amount, const char* doc) {
  std::int64_t units = base_units(resource, amount);
  fields.member(name, units, doc);
  if (fields.reads()) amount = from_base_units(resource, units);
}

}  // namespace pinfold
