#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

/// The fields of Kubernetes objects and their types, for checking documents like Go's decoder.
namespace pinfold {

/// What Go's decoder accepts for a field. null is accepted for every field and means absent.
enum class FieldType {
  kAny,
  kText,
  kDuration,  ///< a string such as "10s", which Go's decoder parses
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

/// The numbers that a kubelet starts with.
struct Range {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

struct Field {
  std::string_view name;
  FieldType type = FieldType::kAny;
  /// The fields of an object, or of each object in a list; not checked if empty.
  std::span<const Field> fields = {};
  Range range = {};  ///< of an integer
};
using Fields = std::span<const Field>;

/// KubeletConfiguration v1beta1, with Pinfold's own object `pinfold`.
extern const Fields kKubeletFields;
/// A v1 Pod. Checked down to the containers and their resources; nothing below the other fields
/// (volumes, probes, affinity, status) affects a decision.
extern const Fields kPodFields;

/// Returns what was expected of a value that is not null; "" if it is as expected.
[[nodiscard]] std::string_view expectation(const nlohmann::json& value, FieldType type);

/// Checks the types of an object's fields.
/// Returns: the unknown fields, "unknown field 'spec.containers[0].limit', did you mean ...?".
/// Errors: kInvalidArgument for a value of a wrong type, "path: value: expectation".
[[nodiscard]] Result<std::vector<std::string>> check_fields(const nlohmann::json& object,
                                                            Fields fields);

/// Returns whether the name of a member is probably a misspelt one of `fields`.
[[nodiscard]] bool has_similar_field(const nlohmann::json& object, Fields fields);

}  // namespace pinfold
