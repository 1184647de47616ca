#include "pinfold/harness/machine_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>

namespace pinfold::harness {
namespace {

/// Regular machines with more CPUs take minutes to boot without KVM.
constexpr int kMostCpus = 64;
constexpr std::uint64_t kLeastNode = 128 * kMiB;
constexpr std::uint64_t kLeastFirstNode = 512 * kMiB;

std::vector<std::vector<int>> equal_distances(std::size_t count) {
  std::vector<std::vector<int>> rows(count, std::vector<int>(count, 20));
  for (std::size_t i = 0; i < count; ++i) rows[i][i] = 10;
  return rows;
}

/// Returns a machine whose CPUs are divided among this number of NUMA nodes, in order.
VmMachine divided(int sockets, int cores, int threads, int nodes) {
  VmMachine machine;
  machine.sockets = sockets;
  machine.cores = cores;
  machine.threads = threads;
  const int each = machine.cpu_count() / nodes;
  for (int i = 0; i < nodes; ++i) {
    machine.nodes.push_back({CpuSet::range(i * each, (i + 1) * each - 1), 0, {}});
  }
  machine.distances = equal_distances(machine.nodes.size());
  return machine;
}

/// Adds the machines whose sockets are all alike.
void add_regular(std::vector<SetMachine>& machines) {
  for (const int sockets : {1, 2, 4, 8}) {
    for (const int cores : {2, 3, 4, 5, 6, 12}) {
      for (const int threads : {1, 2}) {
        for (const int snc : {1, 2, 4}) {
          if (cores % snc != 0 || sockets * cores * threads > kMostCpus) continue;
          std::string name = fmt::format("{}s{}c{}t", sockets, cores, threads);
          if (snc > 1) name += fmt::format("-snc{}", snc);
          machines.push_back(
              {std::move(name), divided(sockets, cores, threads, sockets * snc), {}});
        }
      }
    }
  }
}

/// Adds the machines with many NUMA nodes of one CPU each.
void add_many_nodes(std::vector<SetMachine>& machines) {
  for (const int nodes : {16, 32, 64}) {
    machines.push_back({fmt::format("{}-nodes", nodes), divided(nodes, 1, 1, nodes), {}});
  }
}

/// Adds the machines whose sockets have dies, or several last-level caches.
void add_dies_and_caches(std::vector<SetMachine>& machines) {
  SetMachine dies{"2s-2-dies", divided(2, 2, 2, 4), {}};
  dies.machine.dies = 2;
  for (int i = 0; i < 4; ++i) {
    dies.machine.nodes[static_cast<std::size_t>(i)].cpus = CpuSet::range(4 * i, 4 * i + 3);
  }
  machines.push_back(std::move(dies));
  for (const int caches : {2, 4}) {
    SetMachine one{fmt::format("2s8c2t-{}-caches", caches), divided(2, 8, 2, 2), {}};
    one.machine.caches = caches;
    machines.push_back(std::move(one));
  }
}

/// Adds the machines with NUMA nodes without CPUs, and one with unequal numbers of CPUs.
void add_uneven_nodes(std::vector<SetMachine>& machines) {
  for (const int more : {1, 2, 6}) {
    SetMachine one{fmt::format("2s4c2t-{}-without-cpus", more), divided(2, 4, 2, 2), {}};
    one.machine.nodes.resize(2 + static_cast<std::size_t>(more));
    one.machine.distances = equal_distances(one.machine.nodes.size());
    machines.push_back(std::move(one));
  }
  SetMachine sizes{"2s4c2t-uneven", divided(2, 4, 2, 2), {}};
  sizes.machine.nodes[0].cpus = CpuSet::range(0, 1);
  sizes.machine.nodes[1].cpus = CpuSet::range(2, 15);
  machines.push_back(std::move(sizes));
}

/// Adds the machines whose NUMA nodes are at different distances.
void add_distances(std::vector<SetMachine>& machines) {
  constexpr int kHop = 6;
  for (const int nodes : {4, 8}) {
    SetMachine ring{fmt::format("{}-ring", nodes), divided(nodes, 2, 1, nodes), {}};
    SetMachine asymmetric{fmt::format("{}-asymmetric", nodes), ring.machine, {}};
    for (int i = 0; i < nodes; ++i) {
      for (int j = 0; j < nodes; ++j) {
        const auto row = static_cast<std::size_t>(i);
        const auto column = static_cast<std::size_t>(j);
        const int apart = std::abs(i - j);
        ring.machine.distances[row][column] = 10 + kHop * std::min(apart, nodes - apart);
        asymmetric.machine.distances[row][column] = 10 + kHop * ((j - i + nodes) % nodes);
      }
    }
    machines.push_back(std::move(ring));
    machines.push_back(std::move(asymmetric));
  }
}

/// Adds the machines with offline CPUs.
void add_offline(std::vector<SetMachine>& machines) {
  machines.push_back({"2s4c2t-offline-thread", divided(2, 4, 2, 2), CpuSet{3}});
  machines.push_back({"2s4c2t-offline-core", divided(2, 4, 2, 2), CpuSet{12, 13}});
  machines.push_back({"2s4c2t-offline-node", divided(2, 4, 2, 2), CpuSet::range(8, 15)});
  // Two cores with SMT and four without.
  machines.push_back({"hybrid-2p4e", divided(1, 6, 2, 1), CpuSet{5, 7, 9, 11}});
  machines.push_back({"hybrid-1p2e", divided(1, 3, 2, 1), CpuSet{3, 5}});
}

/// Divides the memory among the nodes.
void give_memory(SetMachine& one, std::uint64_t memory) {
  const std::uint64_t each = memory / one.machine.nodes.size() / kMiB * kMiB;
  for (VmNode& node : one.machine.nodes) node.memory = std::max(each, kLeastNode);
  VmNode& first = one.machine.nodes.front();
  first.memory = std::max(first.memory, kLeastFirstNode);
}

}  // namespace

std::vector<SetMachine> machine_set(std::uint64_t memory) {
  std::vector<SetMachine> machines;
  add_regular(machines);
  add_many_nodes(machines);
  add_dies_and_caches(machines);
  add_uneven_nodes(machines);
  add_distances(machines);
  add_offline(machines);
  for (SetMachine& one : machines) give_memory(one, memory);
  SetMachine without{"2s4c2t-1-without-memory", divided(2, 4, 2, 2), {}};
  give_memory(without, memory);
  without.machine.nodes[1].memory = 0;
  machines.push_back(std::move(without));
  return machines;
}

}  // namespace pinfold::harness
