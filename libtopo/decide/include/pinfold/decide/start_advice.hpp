#pragma once

#include <optional>
#include <string>

#include "pinfold/decide/node.hpp"

/// What a refused start needs, as an explanation says it of a rejected pod.
namespace pinfold {

struct StartAdvice {
  std::string cause;  ///< "reservedMemory must add up to 993Mi: kubeReserved 893Mi, ..."
  std::string write;  ///< what to write into the configuration; "": nothing helps alone

  friend bool operator==(const StartAdvice&, const StartAdvice&) = default;
};

/// nullopt if nothing is known that helps.
[[nodiscard]] std::optional<StartAdvice> advise_start(const Machine& machine, const Config& config,
                                                      const StartError& error);
/// "CAUSE; write: WRITE".
[[nodiscard]] std::string to_string(const StartAdvice& advice);
/// The stage, the kubelet's text and the advice: "start: memorymanager: ...; CAUSE; write: ...".
[[nodiscard]] std::string describe_start_error(const Machine& machine, const Config& config,
                                               const StartError& error);

}  // namespace pinfold
