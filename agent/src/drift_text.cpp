#include "drift_text.hpp"

#include <fmt/format.h>

#include "pinfold/types/named.hpp"

namespace pinfold::agent {

std::string describe(const enforce::NarrowGroup& group) {
  const std::string why =
      group.partition.empty() ? "" : fmt::format(", as '{}' is a partition", group.partition);
  return fmt::format("'{}' has {}{}", group.directory, cpus_named(group.cpus), why);
}

/// Adds foreign groups whose processes run on exclusive CPUs or cannot be read.
void add_foreign_drift(const std::vector<enforce::ForeignGroup>& foreign, const Desired& desired,
                       std::vector<std::string>& lines) {
  const CpuSet exclusive = exclusive_cpus(desired);
  for (const enforce::ForeignGroup& group : foreign) {
    const CpuSet overlap = group.cpus & exclusive;
    if (overlap.empty() && !group.problem.empty()) {
      lines.push_back(
          fmt::format("'{}': its processes are unknown: {}", group.directory, group.problem));
    }
    if (overlap.empty()) continue;
    const std::string_view is = one_or_more(overlap, "is", "are");
    const std::string processes =
        group.problem.empty()
            ? fmt::format("{} process{}", group.processes, group.processes == 1 ? "" : "es")
            : fmt::format("its processes are unknown ({})", group.problem);
    lines.push_back(group.is_own
                        ? fmt::format("'{}': {} in this group itself, on {} that {} "
                                      "exclusive to containers: move them into another group",
                                      group.directory, processes, cpus_named(overlap), is)
                        : fmt::format("'{}': a foreign group, {}, on {} that {} exclusive "
                                      "to containers",
                                      group.directory, processes, cpus_named(overlap), is));
  }
}

}  // namespace pinfold::agent
