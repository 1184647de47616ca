#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pinfold {

/// One fact of a decision.
struct TraceFact {
  std::string source;  ///< "cpu", "memory", "devices", "topology", "quota", "state"
  std::string object;  ///< "pod" or the container's name
  std::string text;    ///< one sentence with its values

  friend bool operator==(const TraceFact&, const TraceFact&) = default;
};

/// The facts that led to a decision, in the order in which they were established. Functions take a
/// `Trace*`; with nullptr nothing is recorded or formatted.
struct Trace {
  std::vector<TraceFact> facts;

  void add(std::string_view source, std::string_view object, std::string text) {
    facts.push_back({std::string(source), std::string(object), std::move(text)});
  }
};

}  // namespace pinfold
