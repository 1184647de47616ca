#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::harness {

/// The path of a value in a document: keys and indices from the root.
using FieldPath = std::vector<std::string>;

/// Returns true if a key of a path is an index.
[[nodiscard]] bool is_index(const std::string& key);

/// Returns "steps[2].write.file".
[[nodiscard]] std::string to_string(const FieldPath& path);

/// The first error in a document.
struct Complaint {
  FieldPath path;
  std::string text;  ///< "3: expected a string"
};

/// Reads the fields of one object. After the first complaint every field reads as absent, so
/// callers check once, at the end. finish() complains about fields that were never read.
class FieldReader {
 public:
  FieldReader(const nlohmann::json& object, FieldPath path, std::optional<Complaint>& complaint);

  /// Returns nullptr if the field is absent or null.
  [[nodiscard]] const nlohmann::json* find(const char* key);
  /// Reads a text; numbers and booleans are converted.
  [[nodiscard]] std::string text(const char* key, std::string fallback);
  [[nodiscard]] std::string required_text(const char* key);
  [[nodiscard]] int integer(const char* key, int fallback, int least, int most);
  [[nodiscard]] std::optional<double> number(const char* key);
  [[nodiscard]] bool boolean(const char* key, bool fallback);
  /// Reads a list such as 0-3,8; absent: empty.
  [[nodiscard]] CpuSet cpus(const char* key);
  /// Reads one of several words; absent: the first.
  template <class T>
  [[nodiscard]] T choice(const char* key,
                         const std::vector<std::pair<std::string_view, T>>& words) {
    return words[chosen(key,
                        [&] {
                          std::vector<std::string_view> names;
                          names.reserve(words.size());
                          for (const auto& [name, value] : words) names.push_back(name);
                          return names;
                        }())]
        .second;
  }
  /// Reads a Kubernetes quantity in whole units.
  [[nodiscard]] std::uint64_t bytes(const char* key, std::uint64_t fallback);
  [[nodiscard]] std::vector<std::string> texts(const char* key);

  /// Returns the index of the field's value in `words`; 0 if absent or invalid.
  [[nodiscard]] std::size_t chosen(const char* key, const std::vector<std::string_view>& words);

  void complain(const char* key, std::string text);
  [[nodiscard]] FieldPath path_of(const char* key) const;
  [[nodiscard]] bool failed() const { return complaint_.has_value(); }
  /// Complains about fields that were never read.
  void finish();

 private:
  const nlohmann::json& object_;
  FieldPath path_;
  std::optional<Complaint>& complaint_;
  std::set<std::string, std::less<>> asked_;
};

/// Returns a scalar as text; nullopt for arrays, objects and null.
[[nodiscard]] std::optional<std::string> scalar_text(const nlohmann::json& value);
/// Returns "expected one of: caches, cores; did you mean 'cores'?".
[[nodiscard]] std::string expected_one_of(const std::vector<std::string_view>& words,
                                          std::string_view given);
/// Returns a value for a message, truncated if long.
[[nodiscard]] std::string show_value(const nlohmann::json& value);

/// Returns the line, counted from 1, at which a field begins; 0 if unknown.
[[nodiscard]] int line_of(std::string_view text, const FieldPath& path);

/// Returns a complaint about a document, with its line: "line 7: steps[2].write.value: 3: expected
/// ...".
[[nodiscard]] Error error_of(std::string_view text, const Complaint& complaint);

}  // namespace pinfold::harness
