#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "pinfold/simulate/simulate.hpp"

namespace pinfold::simulate {
namespace {

using nlohmann::json;

std::string text_of(const json* value) { return value == nullptr ? "(absent)" : value->dump(); }

const json* find_member(const json& object, const std::string& key) {
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

bool has(const json& object, const char* key) { return object.is_object() && object.contains(key); }

/// Returns whether any step has such an observation, of the pod or of a container.
bool records(const json& steps, const char* key) {
  return std::any_of(steps.begin(), steps.end(), [&](const json& step) {
    if (has(step, key)) return true;
    if (!has(step, "containers")) return false;
    const json& containers = step.at("containers");
    return std::any_of(containers.begin(), containers.end(),
                       [&](const json& container) { return has(container, key); });
  });
}

class VectorComparison {
 public:
  explicit VectorComparison(const json& vector)
      : has_linux_(records(vector, "linux")), has_pod_(records(vector, "pod")) {}

  void objects(const std::string& where, const json& expected, const json& actual) {
    std::set<std::string> keys;
    for (const auto& [key, value] : expected.items()) keys.insert(key);
    for (const auto& [key, value] : actual.items()) keys.insert(key);
    for (const std::string& key : keys) {
      const json* const want = find_member(expected, key);
      const json* const have = find_member(actual, key);
      const std::string path = where.empty() ? key : fmt::format("{}.{}", where, key);
      const bool is_optional = key == "hints" || key == "checkpoints" ||
                               (key == "linux" && !has_linux_) || (key == "pod" && !has_pod_);
      if (is_optional && want == nullptr) continue;  // not recorded for this step
      if (key == "hints" && have != nullptr && want->is_object()) {
        values(path, without_nulls(*want), without_nulls(*have));
        continue;
      }
      if (want == nullptr || have == nullptr) {
        differences.push_back({path, text_of(want), text_of(have)});
      } else {
        values(path, *want, *have);
      }
    }
  }

  void values(const std::string& where, const json& expected, const json& actual) {
    if (expected.is_object() && actual.is_object()) return objects(where, expected, actual);
    if (expected == actual) return;
    differences.push_back({where, text_of(&expected), text_of(&actual)});
  }

  std::vector<Mismatch> differences;

 private:
  bool has_linux_;
  bool has_pod_;

  // A resource without preference may be null or missing.
  static json without_nulls(const json& hints) {
    json out = json::object();
    for (const auto& [object, resources] : hints.items()) {
      json& kept = out[object] = json::object();
      if (!resources.is_object()) {
        kept = resources;
        continue;
      }
      for (const auto& [resource, list] : resources.items()) {
        if (!list.is_null()) kept[resource] = list;
      }
    }
    return out;
  }
};

}  // namespace

std::vector<Mismatch> compare(const json& vector, const json& result) {
  static const json kNone = json::array();
  const json* const want = find_member(vector, "expect");
  VectorComparison comparison(want == nullptr ? kNone : *want);
  for (const char* const part : {"startError", "start"}) {
    const json* const expected = find_member(vector, part);
    const json* const actual = find_member(result, part);
    if (expected != nullptr && actual != nullptr) {
      comparison.values(part, *expected, *actual);
    } else if (expected != nullptr || (actual != nullptr && part == std::string("startError"))) {
      comparison.differences.push_back({part, text_of(expected), text_of(actual)});
    }
  }
  const json* const have = find_member(result, "expect");
  const json& expected = want == nullptr || !want->is_array() ? kNone : *want;
  const json& actual = have == nullptr ? kNone : *have;
  for (std::size_t i = 0; i < std::max(expected.size(), actual.size()); ++i) {
    const std::string where = fmt::format("expect[{}]", i);
    if (i >= expected.size() || i >= actual.size()) {
      comparison.differences.push_back({where, i < expected.size() ? "a step" : "(absent)",
                                        i < actual.size() ? "a step" : "(absent)"});
      continue;
    }
    comparison.values(where, expected[i], actual[i]);
  }
  return std::move(comparison.differences);
}

}  // namespace pinfold::simulate
