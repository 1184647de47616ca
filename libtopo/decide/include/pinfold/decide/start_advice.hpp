#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pinfold/decide/node.hpp"

/// How to correct a configuration with which a start fails, as explanations do for rejected pods.
namespace pinfold {

/// A change of one source of the configuration.
struct AdviceStep {
  enum class Kind { kWrite, kPass, kLeaveOut };
  Kind kind = Kind::kWrite;
  /// "": with kWrite the configuration, else the flags.
  std::string file = {};
  /// Members in YAML with kWrite, flags for a shell with kPass, a field or flag with kLeaveOut.
  std::string text = {};

  friend bool operator==(const AdviceStep&, const AdviceStep&) = default;
};

struct StartAdvice {
  std::string cause;  ///< "reservedMemory must add up to 993Mi: kubeReserved 893Mi, ..."
  /// Members of a configuration, in YAML, that replace its own: "a: 1, b: {c: 2}". After that the
  /// start succeeds or fails for another reason. "" if no single change helps.
  std::string write;
  std::vector<AdviceStep> steps = {};  ///< the same, each setting with its place

  friend bool operator==(const StartAdvice&, const StartAdvice&) = default;
};

/// Returns whether a source of a configuration (see ConfigSources) is a flag, not a file.
[[nodiscard]] bool is_flag(const std::string& source);
/// Returns advice; nullopt if there is none.
[[nodiscard]] std::optional<StartAdvice> advise_start(const Machine& machine, const Config& config,
                                                      const StartError& error);
/// Returns "write: MEMBERS", "write in 'FILE': MEMBERS", "pass --max-pods=1" or "leave out ...".
[[nodiscard]] std::string to_string(const AdviceStep& step);
/// Returns "CAUSE; write: WRITE", or the steps.
[[nodiscard]] std::string to_string(const StartAdvice& advice);
/// Returns "CAUSE (kubelet: TEXT); write: WRITE": the kubelet's text is what its log shows. Without
/// advice its text in plain words.
[[nodiscard]] std::string describe(const StartError& error,
                                   const std::optional<StartAdvice>& advice);
/// Returns the stage, the advice and the kubelet's text: "start: memorymanager: CAUSE (kubelet:
/// ...); write: ...". Other managers that would refuse the configuration follow in the same form.
[[nodiscard]] std::string describe_start_error(const Machine& machine, const Config& config,
                                               const StartError& error);

}  // namespace pinfold
