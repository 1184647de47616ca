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

/// Brings the cpusets on the runtime's record to the desired state. Updates travel only with
/// answers: a runtime can hang when a plugin sends them on its own.
class Records {
 public:
  /// Limit per answer: the runtime runs a command for each started container, and nothing else
  /// during that time.
  static constexpr std::size_t kStartedAtOnce = 4;

  /// Returns the updates for one answer: all created containers that are due and at most
  /// kStartedAtOnce started ones, longest waiting first (counted in answers). Leaves out `except`,
  /// the id of the request's container. Marks them in `known` as on the runtime's record.
  [[nodiscard]] std::vector<api::ContainerUpdate> take(KnownPods& known, const Node& node,
                                                       const NodeState& state,
                                                       std::string_view except);

 private:
  /// Started containers that are due, by id, with the number of the answer that first found them
  /// so.
  std::map<std::string, std::uint64_t, std::less<>> due_since_;
  std::uint64_t answers_ = 0;
};

}  // namespace pinfold::nri
