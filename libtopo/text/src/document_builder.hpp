#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
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

  bool begin(nlohmann::json container) {
    if (open_.size() == kMaxDepth) return refuse(kTooDeep);
    open_.push_back({std::move(container), {}});
    return true;
  }
  bool end() {
    nlohmann::json done = std::move(open_.back().value);
    open_.pop_back();
    return value(std::move(done));
  }
  bool key(std::string name) {
    if (open_.back().value.contains(name)) return refuse("duplicate key '" + name + "'");
    open_.back().key = std::move(name);
    return true;
  }
  bool value(nlohmann::json scalar) {
    if (open_.empty()) {
      root_ = std::move(scalar);
    } else if (Level& level = open_.back(); level.value.is_array()) {
      level.value.push_back(std::move(scalar));
    } else {
      level.value.emplace(std::move(level.key), std::move(scalar));
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
    std::string key;  // of the next member
  };
  std::vector<Level> open_;
  nlohmann::json root_;
  std::string problem_;
};

}  // namespace pinfold
