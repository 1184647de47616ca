// pinfold_decide with any numbers in the structures of the C interface. Only the pointers and the
// lengths of the lists are true: the state may be that of another machine, or of none.

#include <pinfold/decide.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#include "bytes.hpp"
#include "described_machine.hpp"

namespace {

using pinfold::test::Bytes;

/// An arbitrary number once in a while, otherwise a plausible one.
template <class Number>
Number or_any(Bytes& bytes, Number plausible) {
  constexpr std::array<std::uint64_t, 8> kOdd = {
      0, 1, 63, 1000, 0x7fffffff, 0x80000000, 0x7fffffffffffffff, 0xffffffffffffffff};
  const unsigned which = bytes.below(128);
  return which < kOdd.size() ? static_cast<Number>(kOdd[which]) : plausible;
}

struct Machine : pinfold::test::DescribedMachine {
  pinfold_machine_description description = PINFOLD_MACHINE_DESCRIPTION_INIT;

  explicit Machine(Bytes& bytes) {
    const unsigned nodes = bytes.below(8) == 7 ? 64 : bytes.below(6);
    const unsigned count = bytes.below(70);
    const unsigned threads = 1 + bytes.below(3);
    for (unsigned i = 0; i < nodes; ++i) numa.push_back(or_any(bytes, static_cast<int>(i)));
    for (unsigned i = 0; i < count; ++i) {
      const int core = static_cast<int>(i / threads);
      const int node = static_cast<int>(i * nodes / count);
      cpus.push_back({or_any(bytes, static_cast<int>(i)), or_any(bytes, core),
                      or_any(bytes, node / 2), or_any(bytes, node), or_any(bytes, core / 2)});
    }
    const unsigned kinds = bytes.below(4);
    for (unsigned i = 0; i < kinds * nodes; ++i) memory.push_back(or_any(bytes, bytes.below(9)));
    for (unsigned i = 0; i < nodes * nodes; ++i) distances.push_back(or_any(bytes, 10 + i % 3));
    for (unsigned i = bytes.below(3); i > 0; --i) {
      reserved.push_back(or_any(bytes, static_cast<int>(bytes.below(8))));
    }
    description = describe();
    if (bytes.below(4) == 3) description.memory = nullptr;
    if (bytes.below(4) == 3) description.distances = nullptr;
    if (bytes.below(4) == 3) description.reserved = nullptr;
    description.topology_policy = or_any(bytes, static_cast<int>(bytes.below(4)));
    description.scope = or_any(bytes, static_cast<int>(bytes.below(2)));
    description.profile = bytes.below(2) == 0
                              ? PINFOLD_PROFILE_FIXED
                              : or_any(bytes, static_cast<int>(bytes.below(3)) + 136);
    description.options = or_any(bytes, bytes.below(256));
    if (bytes.below(8) == 7) description.options |= PINFOLD_NUMA_ALLOCATION_MOST_ALLOCATED;
  }
};

struct State {
  std::vector<std::uint32_t> owners;
  std::vector<pinfold_allocation> allocations;
  pinfold_state state = PINFOLD_STATE_INIT;

  State(Bytes& bytes, std::size_t cpus) : owners(bytes.below(16) == 15 ? 3 : cpus) {
    for (std::uint32_t& owner : owners) owner = or_any(bytes, 100 * bytes.below(3));
    allocations.resize(bytes.below(16));
    for (pinfold_allocation& made : allocations) {
      made = {or_any(bytes, 100 + bytes.below(3)), or_any(bytes, bytes.below(3)),
              or_any(bytes, std::uint64_t{1} + bytes.below(7)), or_any(bytes, bytes.below(9))};
    }
    state.owners = owners.data();
    state.owner_count = owners.size();
    state.allocations = bytes.below(8) == 7 ? nullptr : allocations.data();
    state.allocation_capacity = state.allocations == nullptr ? 0 : allocations.size();
    state.allocation_count = or_any(bytes, bytes.below(6));
  }
};

struct Request {
  // Their elements stay where they are.
  std::deque<std::vector<pinfold_hint>> hints;
  std::deque<std::vector<pinfold_resource_hints>> resources;
  std::deque<std::vector<std::uint64_t>> memory;
  std::vector<pinfold_decide_container> containers;
  pinfold_decide_request request = PINFOLD_DECIDE_REQUEST_INIT;

  explicit Request(Bytes& bytes) {
    for (unsigned i = bytes.below(4); i > 0; --i) {
      pinfold_decide_container& one =
          containers.emplace_back(pinfold_decide_container PINFOLD_DECIDE_CONTAINER_INIT);
      one.owner = or_any(bytes, i);
      one.milli_cpu = or_any(bytes, std::int64_t{500} * bytes.below(40));
      std::vector<std::uint64_t>& bytes_of = memory.emplace_back(bytes.below(4));
      for (std::uint64_t& amount : bytes_of) amount = or_any(bytes, bytes.below(12));
      one.memory = bytes_of.data();
      one.memory_kinds = bytes_of.size();
      one.devices = draw_devices(bytes, one.device_count);
    }
    request.containers = containers.data();
    request.container_count = containers.size();
    request.guaranteed = static_cast<int>(bytes.below(8) != 7);
    request.devices = draw_devices(bytes, request.device_count);
  }

 private:
  const pinfold_resource_hints* draw_devices(Bytes& bytes, std::size_t& count) {
    std::vector<pinfold_resource_hints>& list = resources.emplace_back();
    for (unsigned i = bytes.below(3); i > 0; --i) {
      std::vector<pinfold_hint>& of_resource = hints.emplace_back();
      for (unsigned j = bytes.below(5); j > 0; --j) {
        of_resource.push_back({or_any(bytes, std::uint64_t{bytes.below(16)}),
                               static_cast<std::int32_t>(bytes.below(2))});
      }
      list.push_back({of_resource.data(), of_resource.size()});
    }
    count = list.size();
    return list.data();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes({data, size});
  const Request wanted(bytes);
  const Machine described(bytes);
  State known(bytes, described.cpus.size());

  std::array<char, 100> message{};
  pinfold_machine* made = nullptr;
  const pinfold_code code =
      pinfold_machine_make(&described.description, &made, message.data(), message.size());
  if ((code == PINFOLD_OK) != (made != nullptr)) std::abort();
  const std::unique_ptr<pinfold_machine, decltype(&pinfold_machine_free)> machine(
      made, &pinfold_machine_free);
  if (machine == nullptr) {
    if (message.front() == '\0') std::abort();
    return 0;
  }
  if (bytes.below(2) == 1) (void)pinfold_state_clear(made, &known.state);

  // Not vectors: sanitizers see every byte beyond them.
  const std::size_t needed = pinfold_decide_workspace(made, &wanted.request);
  const auto workspace = std::make_unique<std::byte[]>(needed);
  const auto placements = std::make_unique<pinfold_placement[]>(wanted.containers.size());
  const std::vector<std::uint32_t> owners = known.owners;
  const std::size_t allocations = known.state.allocation_count;
  const pinfold_code decided =
      pinfold_decide(made, &known.state, &wanted.request, placements.get(), workspace.get(), needed,
                     message.data(), message.size());
  if (decided == PINFOLD_OK) {
    if (known.state.allocation_count > known.state.allocation_capacity) std::abort();
    for (const auto& one : wanted.containers) pinfold_state_release(&known.state, one.owner);
  } else if (message.front() == '\0') {
    std::abort();
  }
  // A kubelet keeps what a rejected pod got, and can give a container CPUs that are in use.
  const bool is_exact =
      described.description.profile == PINFOLD_PROFILE_FIXED || decided == PINFOLD_INVALID_ARGUMENT;
  const bool is_unchanged = known.owners == owners && known.state.allocation_count == allocations;
  if (is_exact && !is_unchanged) std::abort();
  return 0;
}
