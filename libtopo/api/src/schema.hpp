#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

/// The fields of Kubernetes objects and their types, to check documents as its decoder does.
namespace pinfold {

/// What Go's decoder takes for a field. null is taken for every field, as an absent one.
enum class FieldType {
  kAny,
  kText,
  kBool,
  kInt32,
  kInt64,
  kNumber,
  kQuantity,  ///< a string or a number
  kObject,
  kTextMap,
  kQuantityMap,
  kList,
  kTextList,
};

struct Field {
  std::string_view name;
  FieldType type = FieldType::kAny;
  /// The fields of an object, or of each object in a list; empty: not checked.
  std::span<const Field> fields = {};
};
using Fields = std::span<const Field>;

/// KubeletConfiguration v1beta1, with Pinfold's own object `pinfold`.
extern const Fields kKubeletFields;
/// A v1 Pod. Checked down to the containers and their resources; what lies below the other fields
/// (volumes, probes, affinity, status) has no influence on a decision.
extern const Fields kPodFields;

/// Checks the types of an object's fields.
/// Returns: the unknown fields, "unknown field 'spec.containers[0].limit', did you mean ...?".
/// Errors: kInvalidArgument for a value of another type, "path: value: expectation".
[[nodiscard]] Result<std::vector<std::string>> check_fields(const nlohmann::json& object,
                                                            Fields fields);

/// Whether a member has a name that is probably a misspelt one of `fields`.
[[nodiscard]] bool has_similar_field(const nlohmann::json& object, Fields fields);

}  // namespace pinfold
