#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/align/topology_manager.hpp"
#include "pinfold/api/config.hpp"
#include "pinfold/api/hint_provider.hpp"
#include "pinfold/api/reservation.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/device/device_manager.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/memory/memory_manager.hpp"

namespace pinfold {

/// The stages of the kubelet's start, in order.
enum class StartStage {
  kConfiguration,
  kTopologyManager,
  kCpuManager,
  kMemoryManager,
  kNodeAllocatable,
};
[[nodiscard]] std::string_view to_string(StartStage stage);

/// A failed start, in the kubelet's words.
struct StartError {
  StartStage stage = StartStage::kConfiguration;
  std::string error;

  friend bool operator==(const StartError&, const StartError&) = default;
};

/// A machine with a configuration: everything that does not change while a node runs. Immutable and
/// movable.
class Node {
 public:
  using Providers = std::vector<std::unique_ptr<const HintProvider>>;

  // Not inline: each program that holds a node would compile them.
  Node(Node&&) noexcept;
  Node& operator=(Node&&) noexcept;
  ~Node();

  /// Makes a node. `providers` are called after devices, CPUs and memory, in this order.
  /// Errors: those of the kubelet's start before it reads its state files; a provider name that is
  /// not unique or not safe (is_safe_name).
  [[nodiscard]] static tl::expected<Node, StartError> make(Machine machine, Config config,
                                                           Providers providers = {});

  [[nodiscard]] const Machine& machine() const { return *machine_; }
  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const FeatureGates& gates() const { return gates_; }
  [[nodiscard]] const Quirks& quirks() const { return quirks_; }
  [[nodiscard]] const NodeReservation& reservation() const { return reservation_; }
  [[nodiscard]] const TopologyManager& topology() const { return *topology_; }
  [[nodiscard]] const CpuManager& cpu() const { return *cpu_; }
  [[nodiscard]] const MemoryManager& memory() const { return *memory_; }
  [[nodiscard]] const DeviceManager& devices() const { return *devices_; }
  [[nodiscard]] const Providers& providers() const { return providers_; }
  /// Returns cpuCFSQuotaPeriod in microseconds.
  [[nodiscard]] std::uint64_t cfs_period_us() const { return cfs_period_us_; }

  /// Makes the kubelet's last check, after its managers have started.
  [[nodiscard]] tl::expected<void, StartError> check_node_allocatable() const;

 private:
  Node();

  std::unique_ptr<const Machine> machine_;  // the managers borrow it, so it must not move
  Config config_;
  FeatureGates gates_;
  Quirks quirks_;
  NodeReservation reservation_;
  std::uint64_t cfs_period_us_ = 100'000;
  std::optional<TopologyManager> topology_;
  std::optional<CpuManager> cpu_;
  std::optional<MemoryManager> memory_;
  std::optional<DeviceManager> devices_;
  Providers providers_;
};

}  // namespace pinfold
