#include "pinfold/agent/known_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "pinfold/agent/node_file.hpp"

namespace pinfold::agent {
namespace {

/// nullopt for a directory without a state: any machine is accepted then.
std::optional<Machine> read_known(checkpoint::Store& store, const LogSink& log) {
  const auto files = store.load();
  if (!files || !files->cpu || !files->node) return std::nullopt;
  auto node = decode_node(*files->node);
  if (node) return std::move(node->machine);
  if (log) {
    log(LogLevel::kWarning,
        fmt::format("'{}' is damaged: {}; which machine the state is for is not "
                    "known",
                    checkpoint::kNodeFileName, node.error().message));
  }
  return std::nullopt;
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

KnownMachine known_machine(Machine observed, checkpoint::Store& store, const LogSink& log) {
  auto known = read_known(store, log);
  if (!known) return {std::move(observed), {}};
  return known_machine(std::move(observed), *std::move(known));
}

KnownMachine known_machine(Machine observed, Machine known) {
  if (!is_same_with_more(known, observed)) return {std::move(observed), {}};
  CpuSet offline = known.all_cpus() - observed.all_cpus();
  return {std::move(known), std::move(offline)};
}

}  // namespace pinfold::agent
