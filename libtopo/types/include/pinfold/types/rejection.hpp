#pragma once

#include <string>
#include <tl/expected.hpp>

namespace pinfold {

/// The kubelet's reason for errors that have no specific reason.
inline constexpr const char* kUnexpectedReason = "UnexpectedAdmissionError";
inline constexpr const char* kBeforeUnexpected = "Allocate failed due to ";
inline constexpr const char* kAfterUnexpected = ", which is unexpected";

/// Why a pod is rejected, in the kubelet's words: the reason ("TopologyAffinityError",
/// "SMTAlignmentError", "EmptyPodSharedPoolError", "UnexpectedAdmissionError") and the message.
/// A result, not an Error.
struct Rejection {
  std::string reason;
  std::string message;
  std::string cause = {};  ///< the message without the kubelet's wrapping

  /// Builds the rejection for errors that have no specific reason in the kubelet:
  /// UnexpectedAdmissionError, "Allocate failed due to ..., which is unexpected".
  [[nodiscard]] static Rejection unexpected(const std::string& cause) {
    return {kUnexpectedReason, kBeforeUnexpected + cause + kAfterUnexpected, cause};
  }
  friend bool operator==(const Rejection&, const Rejection&) = default;
};

/// Success, or the rejection.
using Admission = tl::expected<void, Rejection>;

}  // namespace pinfold
