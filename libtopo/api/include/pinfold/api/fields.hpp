#pragma once

#include <span>

#include "pinfold/api/config.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/fields/types.hpp"

namespace pinfold {

[[nodiscard]] std::span<const QosClass> enumerators(QosClass type);
[[nodiscard]] std::span<const Profile> enumerators(Profile type);

/// A v1 Pod with the fields of PodSpec.
void describe_value(fields::Fields& fields, PodSpec& pod);
/// A KubeletConfiguration.
void describe_value(fields::Fields& fields, Config& config);

/// Describes a member with an amount of a resource, in base units.
void describe_amount(fields::Fields& fields, const char* name, const std::string& resource,
                     Quantity& amount, const char* doc);

}  // namespace pinfold
