#include "pinfold/decide/node.hpp"

#include <fmt/format.h>

#include <set>

#include "node_config.hpp"

namespace pinfold {
namespace {

tl::unexpected<StartError> stop(StartStage stage, Error error) {
  return tl::unexpected(StartError{stage, std::move(error.message)});
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
                {ErrorCode::kInvalidArgument, 0,
                 fmt::format("hint provider '{}': expected a name that is unique and of "
                             "[A-Za-z0-9._-]",
                             name)});
  }
  node.providers_ = std::move(providers);
  node.machine_ = std::make_unique<const Machine>(std::move(machine));
  node.config_ = std::move(config);
  node.gates_ = node.config_.gates();

  auto checked = check_config(node.machine(), node.config_);
  if (!checked) return stop(StartStage::kConfiguration, std::move(checked).error());
  node.reservation_ = std::move(checked->reservation);
  node.cfs_period_us_ = checked->cfs_period_us;

  auto topology = TopologyManager::make(numa_of(node.machine()), node.config_);
  if (!topology) return stop(StartStage::kTopologyManager, std::move(topology).error());
  node.topology_ = std::move(*topology);

  node.devices_.emplace(node.machine());

  auto cpu = CpuManager::make(node.machine(), node.config_, node.reservation_);
  if (!cpu) return stop(StartStage::kCpuManager, std::move(cpu).error());
  node.cpu_ = std::move(*cpu);

  auto memory = MemoryManager::make(node.machine(), node.config_, node.reservation_);
  if (!memory) return stop(StartStage::kMemoryManager, std::move(memory).error());
  node.memory_ = std::move(*memory);
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
                {ErrorCode::kInvalidArgument, 0,
                 fmt::format("invalid Node Allocatable configuration. Resource \"{}\" has a "
                             "reservation of {} but capacity of {}. Expected capacity >= "
                             "reservation.",
                             check.resource, go_struct(reserved->second, false),
                             go_struct(check.capacity, check.in_milli))});
  }
  return {};
}

}  // namespace pinfold
