#pragma once

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pinfold {

/// Builds a JSON value from parser events, within the limits of parse_document. Each event returns
/// false if it exceeds a limit; problem() then names the limit.
// NOLINTNEXTLINE(bugprone-exception-escape): moving nlohmann's JSON asserts
class DocumentBuilder {
 public:
  static constexpr std::size_t kMaxDepth = 100;
  static constexpr const char* kTooDeep = "nested more than 100 levels deep";

  /// `takes_duplicates`: if several members have one key, the last one counts.
  explicit DocumentBuilder(bool takes_duplicates) : takes_duplicates_(takes_duplicates) {}

  bool begin(nlohmann::json container) {
    if (open_.size() == kMaxDepth) return refuse(kTooDeep);
    open_.push_back({std::move(container), {}, {}, false});
    return true;
  }
  bool end() {
    nlohmann::json done = std::move(open_.back().value);
    open_.pop_back();
    return value(std::move(done));
  }
  bool key(std::string name) {
    Level& level = open_.back();
    const bool is_new = level.merged.erase(name) > 0 || !level.value.contains(name);
    if (!is_new && !takes_duplicates_) return refuse("duplicate key '" + name + "'");
    level.key = std::move(name);
    return true;
  }
  /// Announces a value, an object or a list of objects, whose members the open object gets unless
  /// it has one of that name.
  void merge_key() { open_.back().is_merge = true; }
  bool value(nlohmann::json scalar) {
    if (open_.empty()) {
      root_ = std::move(scalar);
    } else if (Level& level = open_.back(); level.value.is_array()) {
      level.value.push_back(std::move(scalar));
    } else if (std::exchange(level.is_merge, false)) {
      return merge(level, scalar);
    } else {
      level.value[std::exchange(level.key, {})] = std::move(scalar);
    }
    return true;
  }
  bool refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  /// The innermost open container. Domain: one is open.
  [[nodiscard]] const nlohmann::json& innermost() const { return open_.back().value; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] nlohmann::json take() { return std::exchange(root_, nullptr); }

 private:
  struct Level {
    nlohmann::json value;
    std::string key;               // of the next member
    std::set<std::string> merged;  // members that a key of the object itself replaces
    bool is_merge = false;         // the next value is merged
  };

  bool merge(Level& level, const nlohmann::json& from) {
    if (from.is_array()) {
      return std::all_of(from.begin(), from.end(),
                         [&](const nlohmann::json& one) { return merge(level, one); });
    }
    if (!from.is_object()) return refuse("'<<': expected an object or a list of objects");
    for (const auto& [key, value] : from.items()) {
      if (level.value.contains(key)) continue;
      level.value[key] = value;
      level.merged.insert(key);
    }
    return true;
  }

  bool takes_duplicates_;
  std::vector<Level> open_;
  nlohmann::json root_;
  std::string problem_;
};

}  // namespace pinfold
