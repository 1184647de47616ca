#pragma once

#include <string_view>

namespace pinfold {

/// A start error whose cause and remedy follow from the kubelet's text alone.
struct KnownStartError {
  std::string_view part;  ///< of the kubelet's text
  const char* cause;
  const char* write;  ///< see StartAdvice
};

/// Finds the entry for an error; nullptr for any other text.
[[nodiscard]] const KnownStartError* find_known_start_error(std::string_view error);

}  // namespace pinfold
