#pragma once

#include <string>
#include <tl/expected.hpp>

namespace pinfold {

/// Why a pod is not admitted, in the kubelet's words: its admission reason
/// ("TopologyAffinityError", "SMTAlignmentError", "EmptyPodSharedPoolError",
/// "UnexpectedAdmissionError") and message. An answer, not an Error.
struct Rejection {
  std::string reason;
  std::string message;
  std::string cause = {};  ///< the message without the kubelet's wrapping

  /// An error without a reason of its own: UnexpectedAdmissionError, "Allocate failed due to ...,
  /// which is unexpected".
  [[nodiscard]] static Rejection unexpected(const std::string& cause) {
    return {"UnexpectedAdmissionError", "Allocate failed due to " + cause + ", which is unexpected",
            cause};
  }
  friend bool operator==(const Rejection&, const Rejection&) = default;
};

/// Done, or the reason why not.
using Admission = tl::expected<void, Rejection>;

}  // namespace pinfold
