#include "pinfold/decide.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "pinfold/place/decider.hpp"

// Converts between the structures of the C interface and those of the decider: checks, no
// decisions.

/// The handle.
struct pinfold_machine {
  pinfold::place::Decider decider;
  std::vector<std::int32_t> cpus;  ///< ids by position
};

namespace pinfold::place {
namespace {

constexpr std::size_t kMaxKinds = 16;
constexpr std::int32_t kMaxCpu = 65535;

/// The caller's memory for a message, or a byte instead.
class Message {
 public:
  Message(char* memory, std::size_t size)
      : text_(size == 0 ? std::span<char>(none_) : std::span<char>(memory, size)) {}

  /// Returns the code of a failure, with its message.
  template <class... Parts>
  pinfold_code fail(pinfold_code code, const Parts&... parts) {
    (text_ << ... << parts);
    return code;
  }

 private:
  std::array<char, 1> none_{};
  Text text_;
};

pinfold_code no_memory(Message& message) {
  return message.fail(PINFOLD_NO_MEMORY, "out of memory");
}

/// Copies a structure of the size that the caller knows. Returns false if the size is not
/// one that this library knows, or a member that it does not know is set.
template <class Struct>
bool read(const Struct* given, Struct& copy) {
  if (given == nullptr || given->struct_size < sizeof(Struct)) return false;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);  // NOLINT: see above
  if (std::any_of(bytes + sizeof(Struct), bytes + given->struct_size,
                  [](unsigned char byte) { return byte != 0; })) {
    return false;
  }
  copy = *given;
  return true;
}

template <class T>
std::span<const T> list(const T* first, std::size_t count) {
  return {first, first == nullptr ? 0 : count};
}

std::optional<Profile> profile_of(std::int32_t number) {
  switch (number) {
    case PINFOLD_PROFILE_FIXED:
      return Profile::kFixed;
    case PINFOLD_PROFILE_KUBELET_1_36:
      return Profile::kKubelet136;
    case PINFOLD_PROFILE_KUBELET_1_37:
      return Profile::kKubelet137;
    case PINFOLD_PROFILE_KUBELET_1_38:
      return Profile::kKubelet138;
    default:
      return std::nullopt;
  }
}

/// The options that this library knows: up to the last flag.
constexpr std::uint32_t kKnownOptions = (PINFOLD_NUMA_ALLOCATION_LEAST_ALLOCATED << 1U) - 1;

CpuPolicyOptions cpu_options(std::uint32_t options) {
  static_assert(sizeof(CpuPolicyOptions) == 6 * sizeof(bool),
                "a new option needs a flag in decide.h, here and in kKnownOptions");
  const auto has = [&](std::uint32_t option) { return (options & option) != 0; };
  return {.full_pcpus_only = has(PINFOLD_FULL_PCPUS_ONLY),
          .distribute_cpus_across_numa = has(PINFOLD_DISTRIBUTE_CPUS_ACROSS_NUMA),
          .align_by_socket = has(PINFOLD_ALIGN_BY_SOCKET),
          .distribute_cpus_across_cores = has(PINFOLD_DISTRIBUTE_CPUS_ACROSS_CORES),
          .strict_cpu_reservation = has(PINFOLD_STRICT_CPU_RESERVATION),
          .prefer_align_cpus_by_uncorecache = has(PINFOLD_PREFER_ALIGN_CPUS_BY_UNCORECACHE)};
}

/// Returns nullopt for two strategies, or for one with PREFER_MOST_ALLOCATED_NUMA_NODE.
std::optional<NumaAllocationStrategy> strategy_of(std::uint32_t options) {
  const bool is_most = (options & PINFOLD_NUMA_ALLOCATION_MOST_ALLOCATED) != 0;
  const bool is_least = (options & PINFOLD_NUMA_ALLOCATION_LEAST_ALLOCATED) != 0;
  if (!is_most && !is_least) return NumaAllocationStrategy::kNone;
  const bool has_two =
      (is_most && is_least) || (options & PINFOLD_PREFER_MOST_ALLOCATED_NUMA_NODE) != 0;
  if (has_two) return std::nullopt;
  return is_most ? NumaAllocationStrategy::kMostAllocated : NumaAllocationStrategy::kLeastAllocated;
}

/// Checks the NUMA nodes and CPUs, and returns the CPUs with NUMA positions.
pinfold_code read_cpus(const pinfold_machine_description& given, std::vector<CpuPlace>& cpus,
                       Message& message) {
  const std::span<const std::int32_t> numa = list(given.numa, given.numa_count);
  if (numa.empty() || numa.size() > NumaMask::kMaxNodes) {
    return message.fail(PINFOLD_INVALID_ARGUMENT, "numa_count: expected 1 to 64 NUMA nodes");
  }
  for (std::size_t i = 1; i < numa.size(); ++i) {
    if (numa[i] > numa[i - 1]) continue;
    return message.fail(PINFOLD_INVALID_ARGUMENT, "numa: ", numa[i], " after ", numa[i - 1],
                        ", expected ascending numbers");
  }
  for (const pinfold_cpu& cpu : list(given.cpus, given.cpu_count)) {
    const auto node = std::lower_bound(numa.begin(), numa.end(), cpu.numa);
    if (node == numa.end() || *node != cpu.numa) {
      return message.fail(PINFOLD_INVALID_ARGUMENT, "cpus: cpu ", cpu.cpu, " is on NUMA node ",
                          cpu.numa, ", which is not listed");
    }
    if (cpu.cpu < 0 || cpu.cpu > kMaxCpu) {
      return message.fail(PINFOLD_INVALID_ARGUMENT, "cpus: id ", cpu.cpu, ", expected 0 to ",
                          kMaxCpu);
    }
    cpus.push_back({cpu.cpu, cpu.core, cpu.socket, static_cast<std::int32_t>(node - numa.begin()),
                    cpu.cache == -1 ? cpu.socket : cpu.cache});
  }
  if (cpus.empty()) {
    return message.fail(PINFOLD_INVALID_ARGUMENT, "cpus: expected at least one CPU");
  }
  std::vector<CpuPlace> sorted = cpus;
  const auto in_order = [&](std::int32_t CpuPlace::*key) {
    std::sort(sorted.begin(), sorted.end(),
              [&](const CpuPlace& a, const CpuPlace& b) { return a.*key < b.*key; });
  };
  in_order(&CpuPlace::cpu);
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].cpu != sorted[i - 1].cpu) continue;
    return message.fail(PINFOLD_INVALID_ARGUMENT, "cpus: id ", sorted[i].cpu, " appears twice");
  }
  in_order(&CpuPlace::core);
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].core != sorted[i - 1].core || sorted[i].socket == sorted[i - 1].socket) continue;
    return message.fail(PINFOLD_INVALID_ARGUMENT, "cpus: core ", sorted[i].core, " is on sockets ",
                        sorted[i - 1].socket, " and ", sorted[i].socket);
  }
  return PINFOLD_OK;
}

pinfold_code reserve(pinfold_machine& machine, const pinfold_machine_description& given,
                     Message& message) {
  Decider& decider = machine.decider;
  if (given.reserved == nullptr) {
    if (given.reserved_count <= machine.cpus.size() &&
        decider.reserve(static_cast<int>(given.reserved_count))) {
      return PINFOLD_OK;
    }
    return message.fail(PINFOLD_INVALID_ARGUMENT, "reserved_count: the machine has fewer CPUs");
  }
  std::vector<Word> reserved(decider.tree().words());
  for (const std::int32_t cpu : list(given.reserved, given.reserved_count)) {
    if (std::find(machine.cpus.begin(), machine.cpus.end(), cpu) == machine.cpus.end()) {
      return message.fail(PINFOLD_INVALID_ARGUMENT, "reserved: the machine has no CPU ", cpu);
    }
    insert(reserved, cpu);
  }
  decider.reserve(reserved);
  return PINFOLD_OK;
}

pinfold_code make_machine(const pinfold_machine_description* description, pinfold_machine** machine,
                          Message& message) {
  pinfold_machine_description given;
  if (machine == nullptr || !read(description, given)) {
    return message.fail(
        PINFOLD_INVALID_ARGUMENT,
        "a NULL, or a description of the wrong size: initialize it with its _INIT macro");
  }
  std::vector<CpuPlace> cpus;
  if (const pinfold_code code = read_cpus(given, cpus, message); code != PINFOLD_OK) return code;

  const auto profile = profile_of(given.profile);
  if (!profile || (given.options & ~kKnownOptions) != 0 || given.topology_policy < 0 ||
      given.topology_policy > PINFOLD_TOPOLOGY_SINGLE_NUMA_NODE || given.scope < 0 ||
      given.scope > PINFOLD_SCOPE_POD) {
    return message.fail(PINFOLD_UNSUPPORTED, "profile ", given.profile, ", topology_policy ",
                        given.topology_policy, ", scope ", given.scope, ", options ", given.options,
                        ": one of them is not known");
  }
  if (given.memory_kinds > kMaxKinds) {
    return message.fail(PINFOLD_INVALID_ARGUMENT, "memory_kinds: expected at most ",
                        static_cast<std::int64_t>(kMaxKinds));
  }
  const auto strategy = strategy_of(given.options);
  const bool knows_strategy = *profile == Profile::kFixed || *profile == Profile::kKubelet138;
  if (!strategy || (*strategy != NumaAllocationStrategy::kNone && !knows_strategy)) {
    return message.fail(PINFOLD_UNSUPPORTED, "options ", given.options,
                        ": expected one numa-allocation-strategy, and a profile that has it");
  }
  Rules rules;
  rules.strategy = *strategy;
  rules.topology = static_cast<TopologyPolicy>(given.topology_policy);
  rules.scope = static_cast<TopologyScope>(given.scope);
  rules.cpu = cpu_options(given.options);
  rules.prefer_most_allocated_numa_node =
      (given.options & PINFOLD_PREFER_MOST_ALLOCATED_NUMA_NODE) != 0;
  rules.quirks = quirks_of(*profile);
  rules.memory = list(given.memory, given.memory_kinds * given.numa_count);
  if ((given.options & PINFOLD_PREFER_CLOSEST_NUMA_NODES) != 0) {
    if (given.distances == nullptr) {
      return message.fail(PINFOLD_INVALID_ARGUMENT,
                          "distances: prefer-closest-numa-nodes needs them");
    }
    rules.distances = list(given.distances, given.numa_count * given.numa_count);
  }
  auto made = std::unique_ptr<pinfold_machine>(
      new pinfold_machine{Decider(cpus, static_cast<int>(given.numa_count), rules), {}});
  for (const CpuPlace& cpu : cpus) made->cpus.push_back(cpu.cpu);
  if (const pinfold_code code = reserve(*made, given, message); code != PINFOLD_OK) return code;
  *machine = made.release();
  return PINFOLD_OK;
}

std::size_t most_devices(const pinfold_decide_request& request) {
  std::size_t most = request.device_count;
  for (const auto& container : list(request.containers, request.container_count)) {
    most = std::max(most, container.device_count);
  }
  return most;
}

/// Calls visit(hints of a resource) for all lists of hints of a request.
template <class Visit>
void for_each_list(const pinfold_decide_request& request, const Visit& visit) {
  for (const auto& resource : list(request.devices, request.device_count)) visit(resource);
  for (const auto& container : list(request.containers, request.container_count)) {
    for (const auto& resource : list(container.devices, container.device_count)) visit(resource);
  }
}

std::size_t workspace_of(const pinfold_machine& machine, const pinfold_decide_request& request) {
  std::size_t resources = 0;
  std::size_t hints = 0;
  for_each_list(request, [&](const pinfold_resource_hints& resource) {
    ++resources;
    hints += resource.hint_count;
  });
  return machine.decider.bytes(most_devices(request), hints) + resources * sizeof(Hints) +
         hints * sizeof(TopologyHint) +
         request.container_count * (sizeof(ContainerRequest) + sizeof(ContainerPlacement)) +
         (resources + 8) * alignof(std::max_align_t);
}

std::size_t new_allocations(const pinfold_machine& machine, const pinfold_decide_request& request) {
  return request.container_count * machine.decider.kinds();
}

std::span<const Hints> read_hints(const pinfold_resource_hints* first, std::size_t count,
                                  Arena& arena) {
  const auto all = arena.make_raw<Hints>(first == nullptr ? 0 : count);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto given = list(first[i].hints, first[i].hint_count);
    const auto hints = arena.make<TopologyHint>(given.size());
    for (std::size_t j = 0; j < given.size(); ++j) {
      if (given[j].numa_mask != 0) hints[j].numa = NumaMask(given[j].numa_mask);
      hints[j].preferred = given[j].preferred != 0;
    }
    all[i] = Hints::of(std::span<const TopologyHint>(hints));
  }
  return all;
}

/// Checks the request, without its owners.
pinfold_code check(const pinfold_machine& machine, const pinfold_decide_request& request,
                   Message& message) {
  const auto containers = list(request.containers, request.container_count);
  if (containers.empty()) {
    return message.fail(PINFOLD_INVALID_ARGUMENT, "containers: expected at least one");
  }
  for (std::size_t i = 0; i < containers.size(); ++i) {
    pinfold_decide_container container;
    if (!read(&containers[i], container) || containers[i].struct_size != sizeof(container)) {
      return message.fail(PINFOLD_INVALID_ARGUMENT,
                          "a container of the wrong size: initialize it with its _INIT macro");
    }
    if (container.owner == PINFOLD_SHARED || container.owner == PINFOLD_RESERVED ||
        std::any_of(containers.begin(), containers.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const auto& other) { return other.owner == container.owner; })) {
      return message.fail(PINFOLD_INVALID_ARGUMENT, "owner ", container.owner,
                          " of a container is already in use: expected a unique number");
    }
  }
  const NumaMask all = NumaMask::all(machine.decider.tree().numa_count());
  bool known = true;
  for_each_list(request, [&](const pinfold_resource_hints& resource) {
    for (const auto& hint : list(resource.hints, resource.hint_count)) {
      known = known && all.contains_all(NumaMask(hint.numa_mask));
    }
  });
  if (known) return PINFOLD_OK;
  return message.fail(PINFOLD_INVALID_ARGUMENT,
                      "a hint names a NUMA node that the machine does not have");
}

/// Checks the state, and that the owners of the request are new to it.
pinfold_code check(const pinfold_machine& machine, const pinfold_state& state,
                   const pinfold_decide_request& request, Message& message) {
  if (state.owners == nullptr || state.owner_count != machine.cpus.size()) {
    return message.fail(PINFOLD_INVALID_ARGUMENT, "owners: expected ",
                        static_cast<std::int64_t>(machine.cpus.size()), " of them");
  }
  const auto containers = list(request.containers, request.container_count);
  const auto is_new = [&](std::uint32_t owner) {
    return std::none_of(containers.begin(), containers.end(),
                        [&](const auto& container) { return container.owner == owner; });
  };
  const auto owners = list<std::uint32_t>(state.owners, state.owner_count);
  for (const auto& container : containers) {
    if (std::find(owners.begin(), owners.end(), container.owner) == owners.end()) continue;
    return message.fail(PINFOLD_INVALID_ARGUMENT, "owner ", container.owner,
                        " has CPUs already: release them first");
  }
  const std::size_t added = new_allocations(machine, request);
  if ((state.allocations == nullptr && state.allocation_count + added > 0) ||
      state.allocation_count > state.allocation_capacity ||
      state.allocation_capacity - state.allocation_count < added) {
    return message.fail(PINFOLD_INVALID_ARGUMENT,
                        "allocations: expected room for one of each kind and container, ",
                        static_cast<std::int64_t>(added));
  }
  const NumaMask all = NumaMask::all(machine.decider.tree().numa_count());
  for (const auto& made : list<pinfold_allocation>(state.allocations, state.allocation_count)) {
    const NumaMask nodes(made.numa_mask);
    if (made.kind >= machine.decider.kinds() || nodes.empty() || !all.contains_all(nodes)) {
      return message.fail(PINFOLD_INVALID_ARGUMENT, "an allocation of owner ", made.owner,
                          ": its kind of memory or its NUMA nodes are not those of the machine");
    }
    if (is_new(made.owner)) continue;
    return message.fail(PINFOLD_INVALID_ARGUMENT, "owner ", made.owner,
                        " has memory already: release it first");
  }
  return PINFOLD_OK;
}

PlaceRequest read_request(const pinfold_decide_request& given, Arena& arena) {
  const auto containers = arena.make_raw<ContainerRequest>(given.container_count);
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const pinfold_decide_container& container = given.containers[i];
    containers[i] = {container.owner, container.milli_cpu,
                     list(container.memory, container.memory_kinds),
                     read_hints(container.devices, container.device_count, arena)};
  }
  return {containers, given.guaranteed != 0, read_hints(given.devices, given.device_count, arena)};
}

pinfold_code decide(const pinfold_machine& machine, pinfold_state& state,
                    const pinfold_decide_request& given, std::span<pinfold_placement> placements,
                    Arena& arena, Message& message) {
  const PlaceRequest request = read_request(given, arena);
  Ownership known{{state.owners, state.owner_count},
                  {state.allocations, state.allocation_capacity},
                  state.allocation_count};
  const auto placed = arena.make_raw<ContainerPlacement>(request.containers.size());
  std::array<char, 320> memory;  // NOLINT: the text begins it
  Text text(memory);
  const Decided decided = machine.decider.decide(known, request, placed, arena, text);
  state.allocation_count = known.allocation_count;
  if (!decided) return message.fail(PINFOLD_REJECTED, decided.error().reason, ": ", text.view());
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const TopologyHint& affinity = placed[i].affinity;
    placements[i] = {affinity.numa ? affinity.numa->bits() : 0, affinity.preferred ? 1 : 0,
                     placed[i].memory_nodes.bits()};
  }
  return PINFOLD_OK;
}

}  // namespace
}  // namespace pinfold::place

using pinfold::place::Message;

pinfold_code pinfold_machine_make(const pinfold_machine_description* description,
                                  pinfold_machine** machine, char* message,
                                  std::size_t message_size) {
  Message text(message, message == nullptr ? 0 : message_size);
  try {
    return pinfold::place::make_machine(description, machine, text);
  } catch (const std::bad_alloc&) {
    return pinfold::place::no_memory(text);
  }
}

void pinfold_machine_free(pinfold_machine* machine) { delete machine; }

int pinfold_machine_is_reserved(const pinfold_machine* machine, std::size_t position) {
  if (machine == nullptr || position >= machine->cpus.size()) return 0;
  return pinfold::place::contains(machine->decider.reserved(), machine->cpus[position]) ? 1 : 0;
}

pinfold_code pinfold_state_clear(const pinfold_machine* machine, pinfold_state* state) {
  if (machine == nullptr || state == nullptr || state->owners == nullptr ||
      state->owner_count != machine->cpus.size()) {
    return PINFOLD_INVALID_ARGUMENT;
  }
  for (std::size_t i = 0; i < state->owner_count; ++i) {
    const bool in_no_pool =
        machine->decider.is_strict() && pinfold_machine_is_reserved(machine, i) != 0;
    state->owners[i] = in_no_pool ? PINFOLD_RESERVED : PINFOLD_SHARED;
  }
  state->allocation_count = 0;
  return PINFOLD_OK;
}

void pinfold_state_release(pinfold_state* state, std::uint32_t owner) {
  if (state == nullptr || owner == PINFOLD_SHARED || owner == PINFOLD_RESERVED) return;
  if (state->owners != nullptr) {
    std::replace(state->owners, state->owners + state->owner_count, owner, PINFOLD_SHARED);
  }
  if (state->allocations == nullptr) return;
  const auto* const end = std::remove_if(
      state->allocations, state->allocations + state->allocation_count,
      [&](const pinfold_allocation& allocation) { return allocation.owner == owner; });
  state->allocation_count = static_cast<std::size_t>(end - state->allocations);
}

std::size_t pinfold_decide_workspace(const pinfold_machine* machine,
                                     const pinfold_decide_request* request) {
  pinfold_decide_request given;
  Message none(nullptr, 0);
  if (machine == nullptr || !pinfold::place::read(request, given)) return 0;
  if (pinfold::place::check(*machine, given, none) != PINFOLD_OK) return 0;
  return pinfold::place::workspace_of(*machine, given);
}

pinfold_code pinfold_decide(const pinfold_machine* machine, pinfold_state* state,
                            const pinfold_decide_request* request, pinfold_placement* placements,
                            void* workspace, std::size_t workspace_size, char* message,
                            std::size_t message_size) {
  Message text(message, message == nullptr ? 0 : message_size);
  pinfold_decide_request given;
  pinfold_state known;
  if (machine == nullptr || placements == nullptr || !pinfold::place::read(state, known) ||
      !pinfold::place::read(request, given)) {
    return text.fail(
        PINFOLD_INVALID_ARGUMENT,
        "a NULL, or a structure of the wrong size: initialize it with its _INIT macro");
  }
  if (auto code = pinfold::place::check(*machine, given, text); code != PINFOLD_OK) return code;
  if (auto code = pinfold::place::check(*machine, known, given, text); code != PINFOLD_OK) {
    return code;
  }
  const std::size_t needed = pinfold::place::workspace_of(*machine, given);
  if (workspace == nullptr || workspace_size < needed) {
    return text.fail(PINFOLD_INVALID_ARGUMENT, "workspace_size: expected at least ",
                     static_cast<std::int64_t>(needed));
  }
  pinfold::place::Arena arena({static_cast<std::byte*>(workspace), workspace_size});
  try {
    return pinfold::place::decide(*machine, *state, given, {placements, given.container_count},
                                  arena, text);
  } catch (const std::bad_alloc&) {
    for (std::size_t i = 0; i < given.container_count; ++i) {
      pinfold_state_release(state, given.containers[i].owner);
    }
    return pinfold::place::no_memory(text);
  }
}
