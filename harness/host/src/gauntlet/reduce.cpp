#include "pinfold/harness/reduce.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "pinfold/base/delete_runs.hpp"
#include "pinfold/harness/json.hpp"

namespace pinfold::harness {
namespace {

constexpr std::uint64_t kReducedFirstNode = 256 * kMiB;
constexpr std::uint64_t kReducedNode = 32 * kMiB;
constexpr int kDefaultDistance = 20;

/// Removes the NUMA nodes for which `is_gone` is true, with their distances and devices.
void remove_nodes(VmMachine& machine, const std::vector<bool>& is_gone) {
  std::vector<int> places;  // of the nodes that stay
  for (std::size_t i = 0; i < is_gone.size(); ++i) {
    if (!is_gone[i]) places.push_back(static_cast<int>(i));
  }
  VmMachine left = machine;
  left.nodes.clear();
  left.devices.clear();
  left.distances.assign(places.size(), {});
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<std::size_t>(places[i]);
    left.nodes.push_back(machine.nodes[place]);
    for (const int other : places) {
      left.distances[i].push_back(machine.distances[place][static_cast<std::size_t>(other)]);
    }
    const auto count = std::count(machine.devices.begin(), machine.devices.end(), places[i]);
    left.devices.insert(left.devices.end(), static_cast<std::size_t>(count), static_cast<int>(i));
  }
  machine = std::move(left);
}

/// Returns the number that a CPU of the smaller machine has in the larger one.
int number_in(const VmMachine& larger, const VmMachine& smaller, int cpu) {
  const int thread = cpu % smaller.threads;
  const int core = cpu / smaller.threads % smaller.cores;
  const int die = cpu / smaller.threads / smaller.cores % smaller.dies;
  const int socket = cpu / smaller.threads / smaller.cores / smaller.dies;
  return ((socket * larger.dies + die) * larger.cores + core) * larger.threads + thread;
}

/// Returns the CPUs of the smaller machine whose counterparts are in `cpus`.
CpuSet counterparts(const VmMachine& larger, const VmMachine& smaller, const CpuSet& cpus) {
  CpuSet found;
  for (int i = 0; i < smaller.cpu_count(); ++i) {
    if (cpus.contains(CpuId{number_in(larger, smaller, i)})) found.insert(CpuId{i});
  }
  return found;
}

/// Returns the machine with only the first `value` sockets, dies, cores or threads (`count`). NUMA
/// nodes that lose all their CPUs are removed.
VmMachine narrowed(const VmMachine& machine, int VmMachine::*count, int value) {
  VmMachine smaller = machine;
  smaller.*count = value;
  if (smaller.cores % smaller.caches != 0) smaller.caches = 1;
  std::vector<bool> is_gone;
  for (VmNode& node : smaller.nodes) {
    const bool had_cpus = !node.cpus.empty();
    node.cpus = counterparts(machine, smaller, node.cpus);
    is_gone.push_back(had_cpus && node.cpus.empty());
  }
  smaller.absent = counterparts(machine, smaller, machine.absent);
  remove_nodes(smaller, is_gone);
  return smaller;
}

/// Returns the machine with the NUMA node `i` joined to the one before it.
VmMachine with_joined_nodes(const VmMachine& machine, std::size_t i) {
  VmMachine smaller = machine;
  smaller.nodes[i - 1].cpus |= smaller.nodes[i].cpus;
  std::vector<bool> is_gone(smaller.nodes.size());
  is_gone[i] = true;
  remove_nodes(smaller, is_gone);
  return smaller;
}

VmMachine with_default_distances(VmMachine machine) {
  for (std::size_t i = 0; i < machine.distances.size(); ++i) {
    for (std::size_t j = 0; j < machine.distances.size(); ++j) {
      machine.distances[i][j] = i == j ? 10 : kDefaultDistance;
    }
  }
  return machine;
}

VmMachine with_less_memory(VmMachine machine) {
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    VmNode& node = machine.nodes[i];
    const std::uint64_t least = std::min(node.memory, i == 0 ? kReducedFirstNode : kReducedNode);
    node.memory = std::max(least, node.memory / kMiB / 2 * kMiB);
  }
  return machine;
}

/// Adds the machines with fewer of one kind of part, fewest first.
void add_fewer(std::vector<VmMachine>& machines, const VmMachine& machine) {
  for (int VmMachine::*const count :
       {&VmMachine::sockets, &VmMachine::dies, &VmMachine::cores, &VmMachine::threads}) {
    const int now = machine.*count;
    for (const int value : {1, 2, now / 2, now - 2, now - 1}) {  // 2: even counts may matter
      if (value >= 1 && value < now) {
        machines.push_back(narrowed(machine, count, value));
      }
    }
  }
  for (std::size_t i = machine.nodes.size(); i-- > 1;) {
    machines.push_back(with_joined_nodes(machine, i));
  }
}

/// Adds the machines without one of the optional properties.
void add_plainer(std::vector<VmMachine>& machines, const VmMachine& machine) {
  const auto add = [&](const auto& change) {
    machines.push_back(machine);
    change(machines.back());
  };
  add([](VmMachine& one) { one.caches = 1; });
  add([](VmMachine& one) { one.devices.clear(); });
  add([](VmMachine& one) { one.network_cards = 0; });
  add([](VmMachine& one) { one.absent = {}; });
  add([](VmMachine& one) { one.pluggable_memory = 0; });
  add([](VmMachine& one) { one.kernel_arguments.clear(); });
  add([](VmMachine& one) {
    for (VmNode& node : one.nodes) node.huge_pages.clear();
  });
  machines.push_back(with_default_distances(machine));
  machines.push_back(with_less_memory(machine));
}

}  // namespace

std::vector<VmMachine> smaller_machines(const VmMachine& machine) {
  std::vector<VmMachine> machines;
  add_fewer(machines, machine);
  add_plainer(machines, machine);
  std::vector<VmMachine> different;
  for (VmMachine& one : machines) {
    const bool is_known =
        one == machine || std::find(different.begin(), different.end(), one) != different.end();
    if (!is_known && check_machine(one)) different.push_back(std::move(one));
  }
  return different;
}

VmMachine smallest_machine(VmMachine machine, const std::function<bool(const VmMachine&)>& fails) {
  std::vector<VmMachine> passed;  // a run takes long, and changes in another order meet again
  const auto fails_once = [&](const VmMachine& one) {
    if (std::find(passed.begin(), passed.end(), one) != passed.end()) return false;
    const bool failed = fails(one);
    if (!failed) passed.push_back(one);
    return failed;
  };
  while (true) {
    auto smaller = smaller_machines(machine);
    const auto found = std::find_if(smaller.begin(), smaller.end(), fails_once);
    if (found == smaller.end()) return machine;
    machine = std::move(*found);
  }
}

Json fewest_steps(Json steps, const std::function<bool(const Json&)>& fails) {
  const auto try_without = [&](std::size_t begin, std::size_t end) {
    Json fewer = steps;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(begin),
                fewer.begin() + static_cast<std::ptrdiff_t>(end));
    if (!fewer.empty() && fails(fewer)) steps = std::move(fewer);
    return steps.size();
  };
  std::size_t before = 0;
  do {
    before = steps.size();
    delete_runs(before, try_without);
  } while (steps.size() < before);
  return steps;
}

std::optional<std::size_t> first_failing(std::size_t count,
                                         const std::function<bool(std::size_t)>& fails) {
  if (count == 0 || !fails(count - 1)) return std::nullopt;
  std::size_t first = 0;
  for (std::size_t last = count - 1; first < last;) {
    const std::size_t middle = first + (last - first) / 2;
    if (fails(middle)) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

}  // namespace pinfold::harness
