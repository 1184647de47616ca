#include "pinfold/decide/node.hpp"

#include <fmt/format.h>

#include <set>

#include "eviction.hpp"
#include "node_config.hpp"

namespace pinfold {
namespace {

tl::unexpected<StartError> stop(StartStage stage, std::string error) {
  return tl::unexpected(StartError{stage, std::move(error)});
}

/// Turns an Error into the StartError of a stage.
auto at(StartStage stage) {
  return [stage](Error error) { return StartError{stage, std::move(error.message)}; };
}

TopologyManager::Numa numa_of(const Machine& machine) {
  TopologyManager::Numa numa;
  numa.count = machine.numa_count();
  for (const NumaNode& node : machine.numa_nodes()) {
    numa.distances.push_back(node.distances);
    numa.ids.push_back(node.id);
  }
  return numa;
}

// Go's %v of a Quantity: {{value scale} {<nil>}  format}.
std::string go_struct(const Quantity& quantity, bool in_milli) {
  static constexpr std::string_view kFormats[] = {"DecimalSI", "BinarySI", "DecimalExponent"};
  const auto format = kFormats[static_cast<std::size_t>(quantity.format())];
  if (in_milli || !quantity.is_whole()) {
    return fmt::format("{{{{{} -3}} {{<nil>}}  {}}}", quantity.milli_value(), format);
  }
  return fmt::format("{{{{{} 0}} {{<nil>}}  {}}}", quantity.value(), format);
}

}  // namespace

Node::Node() = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::~Node() = default;

std::string_view to_string(StartStage stage) {
  switch (stage) {
    case StartStage::kConfiguration:
      return "configuration";
    case StartStage::kTopologyManager:
      return "topologymanager";
    case StartStage::kCpuManager:
      return "cpumanager";
    case StartStage::kMemoryManager:
      return "memorymanager";
    case StartStage::kNodeAllocatable:
      return "nodeallocatable";
  }
  return "unknown";
}

tl::expected<Node, StartError> Node::make(Machine machine, Config config, Providers providers) {
  Node node;
  std::set<std::string> names;
  for (const auto& provider : providers) {
    const std::string name = provider->name();
    if (is_safe_name(name) && names.insert(name).second) continue;
    return stop(StartStage::kConfiguration,
                fmt::format("hint provider '{}': expected a unique name of letters, digits, '.', "
                            "'_' and '-'",
                            name));
  }
  node.providers_ = std::move(providers);
  node.machine_ = std::make_unique<const Machine>(std::move(machine));
  node.config_ = std::move(config);
  node.gates_ = node.config_.gates();
  node.quirks_ = node.config_.quirks();

  PINFOLD_LET(auto checked,
              check_config(node.machine(), node.config_).map_error(at(StartStage::kConfiguration)));
  node.reservation_ = std::move(checked.reservation);
  node.cfs_period_us_ = checked.cfs_period_us;
  PINFOLD_LET(node.topology_, TopologyManager::make(numa_of(node.machine()), node.config_)
                                  .map_error(at(StartStage::kTopologyManager)));
  node.devices_.emplace(node.machine());
  PINFOLD_LET(node.cpu_, CpuManager::make(node.machine(), node.config_, node.reservation_)
                             .map_error(at(StartStage::kCpuManager)));
  PINFOLD_LET(node.memory_, MemoryManager::make(node.machine(), node.config_, node.reservation_)
                                .map_error(at(StartStage::kMemoryManager)));
  PINFOLD_TRY(check_soft_eviction(node.config_).map_error([](const Error& error) {
    return StartError{StartStage::kConfiguration, "failed to create kubelet: " + error.message};
  }));
  return node;
}

tl::expected<void, StartError> Node::check_node_allocatable() const {
  const struct {
    Quantity capacity;
    const char* resource;
    bool in_milli;
  } checks[] = {
      {Quantity::milli(static_cast<std::int64_t>(machine().cpus().size()) * 1000), "cpu", true},
      {Quantity::bytes(static_cast<std::int64_t>(machine().memory())), "memory", false},
  };
  for (const auto& check : checks) {
    const auto reserved = reservation_.amounts.find(check.resource);
    if (reserved == reservation_.amounts.end() || reserved->second <= check.capacity) continue;
    return stop(StartStage::kNodeAllocatable,
                fmt::format("invalid Node Allocatable configuration. Resource \"{}\" has a "
                            "reservation of {} but capacity of {}. Expected capacity >= "
                            "reservation.",
                            check.resource, go_struct(reserved->second, false),
                            go_struct(check.capacity, check.in_milli)));
  }
  return {};
}

}  // namespace pinfold
