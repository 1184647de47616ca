#include "pinfold/agent/known_machine.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "pinfold/text/document.hpp"

namespace pinfold::agent {
namespace {

/// Nothing for a directory without state: then the machine may be what it likes.
std::optional<Machine> remembered(const std::string& state_dir) {
  if (!std::ifstream(state_dir + "/cpu_manager_state").is_open()) return std::nullopt;
  std::ifstream in(state_dir + "/" + std::string(kMachineFileName), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (text.empty()) return std::nullopt;
  const auto document = parse_document(text);
  if (!document) return std::nullopt;
  auto machine = Machine::from_json(*document);
  return machine ? std::optional(*std::move(machine)) : std::nullopt;
}

bool is_same_with_more(const Machine& more, const Machine& less) {
  if (!more.all_cpus().contains_all(less.all_cpus()) || more.all_cpus() == less.all_cpus()) {
    return false;
  }
  const auto& nodes = less.numa_nodes();
  if (!std::equal(nodes.begin(), nodes.end(), more.numa_nodes().begin(), more.numa_nodes().end(),
                  [](const NumaNode& a, const NumaNode& b) { return a.id == b.id; })) {
    return false;
  }
  const CpuSet online = less.all_cpus();
  return std::all_of(online.begin(), online.end(), [&](CpuId id) {
    const Cpu* const now = less.find(id);
    const Cpu* const then = more.find(id);
    return now->socket == then->socket && now->numa == then->numa;
  });
}

}  // namespace

KnownMachine known_machine(Machine observed, const std::string& state_dir) {
  auto known = remembered(state_dir);
  if (!known || !is_same_with_more(*known, observed)) return {std::move(observed), {}};
  CpuSet offline = known->all_cpus() - observed.all_cpus();
  return {*std::move(known), std::move(offline)};
}

enforce::Layout without_cpus(enforce::Layout desired, const CpuSet& offline, const CpuSet& pool) {
  const CpuSet rest = pool - offline;
  CpuSet fallen;  // what the pod at hand needs beside its own, for containers that fell back
  for (auto it = desired.rbegin(); it != desired.rend(); ++it) {  // containers before their pod
    auto& [name, group] = *it;
    if (name.is_pod()) {
      if (!group.cpus.empty()) group.cpus = (group.cpus - offline) | fallen;
      fallen.clear();
    } else if (group.cpus.intersects(offline)) {
      group.cpus -= offline;
      if (!group.cpus.empty()) continue;
      group.cpus = fallen = rest;
      group.isolation = Isolation::kHost;
    }
  }
  return desired;
}

}  // namespace pinfold::agent
