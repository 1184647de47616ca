#include "schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "pinfold/text/field.hpp"
#include "pinfold/text/go_duration.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/text/words.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

bool is_scalar(const json& value) { return value.is_number() || value.is_boolean(); }

template <class Int>
bool fits(const json& value) {
  using Limits = std::numeric_limits<Int>;
  if (value.is_number_unsigned()) {
    return value.get<std::uint64_t>() <= static_cast<std::uint64_t>(Limits::max());
  }
  if (!value.is_number_integer()) return false;
  const auto number = value.get<std::int64_t>();
  return number >= Limits::min() && number <= Limits::max();
}

/// Returns "expected 0 or more" for a number outside of a range; "" for one in it.
std::string range_expectation(const json& value, const Range& range) {
  if (!value.is_number_integer()) return "";
  const auto number = value.get<std::int64_t>();
  if (number >= range.least && number <= range.most) return "";
  return range.most == Range{}.most
             ? fmt::format("expected {} or more", range.least)
             : fmt::format("expected a number from {} to {}", range.least, range.most);
}

/// Words that the kubelet has another name for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kOtherWords = {{
    {"housekeeping", "reserved-system"},
    {"isolated", "reserved"},
    {"limit", "max"},
    {"maximum", "max"},
    {"node", "numa-node"},
    {"numa", "topology-manager"},
    {"os", "system"},
}};

/// Returns "reserved-cpu" for "isolatedCPUs"; "" for a name without such words.
std::string in_kubelet_words(const std::string& name) {
  std::string out;
  bool is_changed = false;
  for (const std::string& word : words_of_name(name)) {
    const auto* const other = std::find_if(kOtherWords.begin(), kOtherWords.end(),
                                           [&](const auto& one) { return one.first == word; });
    const bool is_other = other != kOtherWords.end();
    is_changed = is_changed || is_other;
    if (!out.empty()) out += '-';
    out += is_other ? other->second : word;
  }
  return is_changed ? out : "";
}

class Checker {
 public:
  Result<void> check_object(const json& object, const std::string& path, Fields fields) {
    for (const auto& [name, value] : object.items()) {
      const auto found = std::find_if(fields.begin(), fields.end(),
                                      [&, key = name](const Field& f) { return f.name == key; });
      if (found == fields.end()) {
        // Each search takes time, and a document can have many unknown fields.
        constexpr std::size_t kMostSuggestions = 50;
        const bool suggests = unknown_.size() < kMostSuggestions;
        unknown_.push_back(fmt::format("unknown field '{}'{}", printable(join(path, name)),
                                       suggests ? suggestion(name, fields) : ""));
        continue;
      }
      PINFOLD_TRY(check_value(value, join(path, name), *found));
    }
    return {};
  }

  [[nodiscard]] std::vector<std::string> take() && { return std::move(unknown_); }

 private:
  Result<void> check_value(const json& value, const std::string& path, const Field& field) {
    if (value.is_null()) return {};
    if (const auto expected = expectation(value, field.type); !expected.empty()) {
      return fail_field(path, value, expected);
    }
    if (const auto expected = range_expectation(value, field.range); !expected.empty()) {
      return fail_field(path, value, expected + "; a kubelet does not start with it");
    }
    if (field.type == FieldType::kTextMap || field.type == FieldType::kTextList) {
      return check_items(value, path, FieldType::kText);
    }
    if (field.type == FieldType::kQuantityMap) {
      return check_items(value, path, FieldType::kQuantity);
    }
    if (field.fields.empty()) return {};
    if (field.type == FieldType::kObject) return check_object(value, path, field.fields);
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string item = fmt::format("{}[{}]", path, i);
      if (value[i].is_null()) continue;
      if (!value[i].is_object()) return fail_field(item, value[i], "expected an object");
      PINFOLD_TRY(check_object(value[i], item, field.fields));
    }
    return {};
  }

  static Result<void> check_items(const json& value, const std::string& path, FieldType type) {
    for (const auto& [key, item] : value.items()) {  // for an item of a list, the key is its index
      const auto expected = item.is_null() ? std::string_view() : expectation(item, type);
      if (expected.empty()) continue;
      return fail_field(value.is_array() ? fmt::format("{}[{}]", path, key) : join(path, key), item,
                        expected);
    }
    return {};
  }

  /// Suggests the nearest field, or the same field one level down.
  static std::string suggestion(const std::string& name, Fields fields) {
    for (const Field& field : fields) {
      if (field.type != FieldType::kObject) continue;
      for (const Field& below : field.fields) {
        if (below.name == name) return fmt::format(", did you mean '{}.{}'?", field.name, name);
      }
    }
    std::vector<std::string_view> names;
    names.reserve(fields.size());
    for (const Field& field : fields) names.push_back(field.name);
    const std::string found = did_you_mean(in_kubelet_words(name), names);
    return found.empty() ? did_you_mean(name, names) : found;
  }

  std::vector<std::string> unknown_;
};

}  // namespace

std::string_view expectation(const json& value, FieldType type) {
  switch (type) {
    case FieldType::kAny:
      break;
    case FieldType::kText:
      // YAML turns words such as 0 and true into numbers and booleans.
      if (is_scalar(value)) return "expected a string, in quotes";
      return value.is_string() ? "" : "expected a string";
    case FieldType::kDuration:
      return value.is_string() && go::parse_duration(value.get_ref<const std::string&>())
                 ? ""
                 : "expected a duration in quotes, such as \"10s\"";
    case FieldType::kBool:
      return value.is_boolean() ? "" : "expected true or false";
    case FieldType::kInt32:
      return fits<std::int32_t>(value) ? "" : "expected a 32-bit integer";
    case FieldType::kInt64:
      return fits<std::int64_t>(value) ? "" : "expected a 64-bit integer";
    case FieldType::kNumber:
      return value.is_number() ? "" : "expected a number";
    case FieldType::kQuantity:
      return value.is_string() || value.is_number() ? "" : "expected a quantity";
    case FieldType::kObject:
    case FieldType::kTextMap:
    case FieldType::kQuantityMap:
      return value.is_object() ? "" : "expected an object";
    case FieldType::kList:
    case FieldType::kTextList:
      return value.is_array() ? "" : "expected a list";
  }
  return "";
}

Result<std::vector<std::string>> check_fields(const json& object, Fields fields) {
  Checker checker;
  PINFOLD_TRY(checker.check_object(object, "", fields));
  return std::move(checker).take();
}

bool has_similar_field(const json& object, Fields fields) {
  constexpr int kMost = 50;  // each search takes time
  std::vector<std::string_view> names;
  names.reserve(fields.size());
  for (const Field& field : fields) names.push_back(field.name);
  int count = 0;
  for (const auto& [name, value] : object.items()) {
    if (count++ >= kMost) return false;
    const std::string in_words = in_kubelet_words(name);
    const bool is_similar =
        !nearest(name, names).empty() || (!in_words.empty() && !nearest(in_words, names).empty());
    if (is_similar) return true;
  }
  return false;
}

}  // namespace pinfold
