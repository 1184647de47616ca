#pragma once

#include <map>
#include <string>
#include <vector>

#include "pinfold/api/amounts.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/types/container_map.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/rejection.hpp"
#include "pinfold/types/trace.hpp"

namespace pinfold {

/// The devices that each container holds.
struct DeviceState {
  /// Resource name to device ids.
  using OfContainer = std::map<std::string, std::vector<std::string>>;
  ContainerMap<OfContainer> assignments;
  /// Devices of standard init containers that later containers of the pod may reuse.
  std::map<PodUid, OfContainer> reusable;

  friend bool operator==(const DeviceState&, const DeviceState&) = default;
};

/// The device manager's part of a decision. Immutable: all state is in DeviceState. Borrows the
/// machine, which must outlive it.
///
/// Among equal devices, the one with the lowest number goes first ("gpu-2" before "gpu-10"), so
/// that the choice is deterministic; in the kubelet it is random. Resources without a device on the
/// machine are ignored.
class DeviceManager {
 public:
  explicit DeviceManager(const Machine& machine);

  /// Returns a container's hints. All devices of a resource determine the width of preferred hints,
  /// the free ones the possible hints. A resource whose devices have no topology has no preference.
  /// Masks consist of NUMA nodes with such devices; with more than 16 of them not every mask is
  /// tried, see for_each_hint_mask.
  [[nodiscard]] ResourceHints container_hints(const DeviceState& state, const PodSpec& pod,
                                              const Container& container) const;
  /// Like container_hints, for the most that the pod's containers need at one time.
  [[nodiscard]] ResourceHints pod_hints(const DeviceState& state, const PodSpec& pod) const;

  /// For explanations: returns the device resources that a container (or with nullptr the pod)
  /// needs and, for each set of NUMA nodes with such devices, how many are free and held. Empty if
  /// it needs none.
  [[nodiscard]] std::vector<Amounts> amounts(const DeviceState& state, const PodSpec& pod,
                                             const Container* container) const;

  /// Returns which devices with a NUMA node are assigned, for each device.
  [[nodiscard]] UsageByResource usage(const DeviceState& state) const;

  /// Allocates the devices of one container: first those that init containers left, then those
  /// within the affinity, then others, then those without topology; lowest ids first. A container
  /// that already has its devices keeps them. After a rejection it may keep devices of earlier
  /// resources, as in the kubelet. Pod-level allocation takes no devices: call this for each
  /// container when it starts.
  [[nodiscard]] Admission allocate(DeviceState& state, const PodSpec& pod,
                                   const Container& container, const TopologyHint& affinity,
                                   Trace* trace) const;
  /// Releases a container's devices; ignores unknown names.
  void remove_container(DeviceState& state, const ContainerId& container) const;

 private:
  struct KnownDevice {
    std::string id;
    NumaMask nodes;             ///< only those that the machine has
    bool has_topology = false;  ///< lists NUMA nodes, even ones that the machine does not have
  };
  /// The devices of one resource, lowest number first.
  using Inventory = std::vector<KnownDevice>;
  using Ids = std::vector<std::string>;

  [[nodiscard]] HintList hints(const Inventory& inventory, const Ids& in_use, const Ids& held,
                               const Ids& reusable, std::int64_t count) const;
  /// Chooses `count` devices; fails with the kubelet's message if too few are free.
  [[nodiscard]] tl::expected<Ids, std::string> take(const std::string& resource,
                                                    const Inventory& inventory, const Ids& in_use,
                                                    const Ids& reusable, std::int64_t count,
                                                    const TopologyHint& affinity) const;

  const Machine* machine_;
  std::map<std::string, Inventory, std::less<>> resources_;
};

}  // namespace pinfold
