#pragma once

#include <map>
#include <string>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/types/container_map.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/rejection.hpp"
#include "pinfold/types/trace.hpp"

namespace pinfold {

/// Which devices each container holds.
struct DeviceState {
  /// Resource name to device ids.
  using OfContainer = std::map<std::string, std::vector<std::string>>;
  ContainerMap<OfContainer> assignments;
  /// Devices of standard init containers that later containers of the pod may take.
  std::map<PodUid, OfContainer> reusable;

  friend bool operator==(const DeviceState&, const DeviceState&) = default;
};

/// The device manager's part of a decision: immutable, all state is in DeviceState.
/// Borrows the machine, which must outlive it.
///
/// Among equal devices the one with the lowest number goes first ("gpu-2" before "gpu-10"), so that
/// the choice is deterministic; the kubelet leaves it to chance.
/// Resources that the machine has no device of are no concern of the device manager.
class DeviceManager {
 public:
  explicit DeviceManager(const Machine& machine);

  /// All devices of a resource decide how wide a preferred hint is, free ones what is possible. A
  /// resource of which no device has a NUMA node has no preference.
  /// Masks are made of the nodes that have such devices; if those are more than 16, not every one
  /// is tried, see for_each_hint_mask.
  [[nodiscard]] ResourceHints container_hints(const DeviceState& state, const PodSpec& pod,
                                              const Container& container) const;
  /// The same for what the pod's containers need at one time.
  [[nodiscard]] ResourceHints pod_hints(const DeviceState& state, const PodSpec& pod) const;

  /// Takes the devices of one container: what init containers left first, then within the
  /// affinity, then others, then those without a NUMA node; lowest ids first. A container that has
  /// its devices keeps them. On a rejection it may keep those of the resources before, as with the
  /// kubelet.
  /// Pod-level allocation takes no devices: call this for each container as it starts.
  [[nodiscard]] Admission allocate(DeviceState& state, const PodSpec& pod,
                                   const Container& container, const TopologyHint& affinity,
                                   Trace* trace) const;
  /// Gives a container's devices back; unknown names are no error.
  void remove_container(DeviceState& state, const ContainerId& container) const;

 private:
  struct Known {
    std::string id;
    NumaMask nodes;  ///< empty: no topology
  };
  /// The devices of one resource, lowest number first.
  using Inventory = std::vector<Known>;
  using Ids = std::vector<std::string>;

  [[nodiscard]] HintList hints(const Inventory& inventory, const Ids& in_use, const Ids& held,
                               const Ids& reusable, std::int64_t wanted) const;
  /// Adds the devices still missing to `taken`, or says why there are not enough.
  [[nodiscard]] tl::expected<Ids, std::string> take(const std::string& resource,
                                                    const Inventory& inventory, const Ids& in_use,
                                                    const Ids& reusable, std::int64_t wanted,
                                                    const TopologyHint& affinity) const;

  const Machine* machine_;
  std::map<std::string, Inventory, std::less<>> resources_;
};

}  // namespace pinfold
