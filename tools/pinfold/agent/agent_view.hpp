#pragma once

#include <map>
#include <string>
#include <vector>

#include "pinfold/agent/status.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/types/trace.hpp"
#include "pinfold/verbs/comparison.hpp"

/// Formats pods and containers of an agent as text.
namespace pinfold::tools {

/// Formats the table of containers, followed by those that differ from the desired state. Observed
/// values have their own columns if the style is wide enough; else only a verdict is shown.
[[nodiscard]] std::string container_table(const std::vector<agent::PodStatus>& pods, bool enforced,
                                          const Style& style);

/// Formats the comparison of a service with mode observe.
[[nodiscard]] std::string comparison_text(const verbs::Comparison& comparison);
/// Formats the facts of a trace, one line each.
[[nodiscard]] std::string trace_text(const Trace& trace);

/// Prints the long texts about several names only once.
class FirstOfEach {
 public:
  /// Returns the text, or "as NAME" if it is long and an earlier name had the same one.
  [[nodiscard]] std::string shown(const std::string& name, const std::string& text);

 private:
  std::map<std::string, std::string> first_;  ///< text to name
};

}  // namespace pinfold::tools
