#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::socket {

/// Reads the members of an object and keeps the first error. Values read after it are empty.
class Members {
 public:
  Members(const nlohmann::json& value, std::string path);

  /// Returns nullptr if it is absent.
  [[nodiscard]] const nlohmann::json* find(const char* key);
  /// The member must be present.
  [[nodiscard]] const nlohmann::json& get(const char* key);
  [[nodiscard]] std::string text(const char* key);
  [[nodiscard]] bool flag(const char* key);  ///< absent: false
  /// Returns 0 if it is absent. Domain of the value: 0 to `max`.
  [[nodiscard]] std::uint64_t number(const char* key, std::uint64_t max);
  [[nodiscard]] std::vector<std::string> texts(const char* key);
  [[nodiscard]] CpuSet cpu_set(const char* key);
  /// Returns the elements; none after an error.
  [[nodiscard]] const nlohmann::json::array_t& list(const char* key);
  [[nodiscard]] std::string path(std::string_view key) const;

  void fail_at(std::string_view key, const nlohmann::json& value, std::string_view expectation);
  /// Takes over the error of a part; returns whether there is none.
  template <class T>
  bool ok(const Result<T>& part) {
    if (!part && error_) error_ = tl::unexpected(part.error());
    return part.has_value();
  }
  /// Errors: the first one; an unread member.
  [[nodiscard]] Result<void> end();

 private:
  const nlohmann::json& value_;
  std::string path_;
  std::set<std::string, std::less<>> read_;
  Result<void> error_;
};

}  // namespace pinfold::socket
