#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/decide/decide.hpp"
#include "pinfold/nri_pods/known_pods.hpp"

namespace pinfold::nri {

/// Brings the cpusets that a runtime has on record to what the state asks for. Updates go only with
/// answers: a runtime can hang when a plugin sends them by itself.
class Records {
 public:
  /// For a started container the runtime runs a command, and does nothing else meanwhile.
  static constexpr std::size_t kStartedAtOnce = 4;

  /// What an answer carries: all created containers that are due, and at most kStartedAtOnce
  /// started ones, those first that have been due for the greatest number of answers. Not
  /// `except`, the id of the container of the request. In `known` the runtime has them on record
  /// then.
  [[nodiscard]] std::vector<api::ContainerUpdate> take(KnownPods& known, const Node& node,
                                                       const NodeState& state,
                                                       std::string_view except);

 private:
  /// The started containers that are due, by id: the number of the answer that found them so.
  std::map<std::string, std::uint64_t, std::less<>> due_since_;
  std::uint64_t answers_ = 0;
};

}  // namespace pinfold::nri
