#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "pinfold/api/config.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/types/container_map.hpp"
#include "pinfold/types/cpuset.hpp"

/// .pinfold_node: JSON with a checksum; docs/operations.md.
namespace pinfold::agent {

/// The node before the last reconfiguration, with its state.
struct EarlierNode {
  Machine machine;
  Config config;
  checkpoint::KubeletFiles files;
  std::set<PodUid> pods;           ///< the active ones
  ContainerMap<CpuSet> baselines;  ///< of containers; not every format of the files stores them
};

/// The node that a state is for.
struct StoredNode {
  Machine machine;
  Config config;
  std::shared_ptr<const EarlierNode> before;  ///< nullptr: there was none
};

[[nodiscard]] std::string encode_node(const Machine& machine, const Config& config,
                                      const std::shared_ptr<const EarlierNode>& before);
/// Errors: kCorrupt.
[[nodiscard]] Result<StoredNode> decode_node(std::string_view text);

}  // namespace pinfold::agent
