#pragma once

#include <cstddef>
#include <string>

#include "pinfold/pinfold.h"
#include "pinfold/types/hint.hpp"

/// The outputs that a callback fills through pinfold_text_set, pinfold_hints_add and
/// pinfold_hints_set_impossible.
namespace pinfold::capi {

/// An invalid output of a callback. It makes the call fail even if the callback ignores the
/// returned code. Recording it allocates nothing.
struct Misuse {
  pinfold_code code = PINFOLD_OK;
  const char* reason = "";

  /// Records only the first problem. Returns `given`.
  pinfold_code record(pinfold_code given, const char* why) noexcept;
};

/// Limits that no correct callback reaches.
inline constexpr std::size_t kMaxFileText = std::size_t{4} << 20U;
inline constexpr std::size_t kMaxProviderText = std::size_t{64} << 10U;
inline constexpr std::size_t kMaxResourceName = 317;  ///< as in Kubernetes: domain, '/', name
inline constexpr std::size_t kMaxResources = 1000;
inline constexpr std::size_t kMaxHints = std::size_t{1} << 20U;

}  // namespace pinfold::capi

struct pinfold_text {
  std::size_t most = 0;  ///< bytes
  std::string value;
  bool is_set = false;
  pinfold::capi::Misuse misuse;  ///< of the last pinfold_text_set
};

struct pinfold_hints {
  int numa_count = 0;  ///< NUMA nodes of the machine
  pinfold::ResourceHints value;
  std::size_t count = 0;
  pinfold::capi::Misuse misuse;
};
