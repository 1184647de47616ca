#pragma once

#include <map>
#include <string>
#include <vector>

#include "pinfold/machine/machine.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/pod.hpp"
#include "pinfold/types/rejection.hpp"
#include "pinfold/types/trace.hpp"

namespace pinfold {

/// Which devices each container holds: pod UID, container name, resource name, device ids.
struct DeviceState {
  using OfContainer = std::map<std::string, std::vector<std::string>>;
  std::map<std::string, std::map<std::string, OfContainer>> assignments;
  /// Devices of standard init containers that later containers of the pod may take:
  /// pod UID, resource name, device ids.
  std::map<std::string, OfContainer> reusable;

  friend bool operator==(const DeviceState&, const DeviceState&) = default;
};

/// The device manager's part of a decision: immutable, all state is in DeviceState.
/// Borrows the machine, which must outlive it.
class DeviceManager {
 public:
  explicit DeviceManager(const Machine& machine);

  [[nodiscard]] ResourceHints container_hints(const DeviceState& state, const PodSpec& pod,
                                              const Container& container) const;
  [[nodiscard]] ResourceHints pod_hints(const DeviceState& state, const PodSpec& pod) const;

  /// Takes the devices of one container: lowest ids within the affinity first.
  [[nodiscard]] Admission allocate(DeviceState& state, const PodSpec& pod,
                                   const Container& container, const TopologyHint& affinity,
                                   Trace* trace) const;
  void remove_container(DeviceState& state, const std::string& pod_uid,
                        const std::string& container) const;

 private:
  const Machine* machine_;
};

}  // namespace pinfold
