#pragma once

#include "model_kernel.hpp"
#include "player.hpp"

namespace pinfold::test {

/// Plays a row on the model of the Linux that has its table, 6.1 or 7, with CPUs 0 to 7.
/// `beyond`, if not null: ModelKernel::beyond_model.
[[nodiscard]] inline Result<Played> play_on_model(const TableRow& row,
                                                  std::string* beyond = nullptr) {
  ModelKernel kernel(enforce::CgroupVersion::kV2, CpuSet::range(0, 7), {0});
  kernel.is_linux7 = row.kind != TableKind::kInPartition;
  kernel.has_exclusive = kernel.is_linux7;
  const auto fs = kernel.fs();
  Player player(*fs, [&](CpuId cpu, bool online) -> Result<void> {
    kernel.set_online(online ? kernel.cpus | CpuSet::of(cpu) : kernel.cpus - CpuSet::of(cpu));
    return {};
  });
  auto played = player.play(row);
  if (beyond != nullptr) *beyond = kernel.beyond_model;
  return played;
}

}  // namespace pinfold::test
