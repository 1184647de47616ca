#pragma once

#include <string>
#include <string_view>

#include "pinfold/checkpoint/kubelet_files.hpp"

/// The contents of state files, independent of a configuration.
namespace pinfold::checkpoint {

template <class State>
struct Inspected {
  int version = 0;  ///< the newest format that the bytes have, checksum included
  std::string policy;
  State state;  ///< from CPU V1: runtime ids as containers of a pod ""
};

/// Errors: kCorrupt, with the kubelet's text for the oldest format.
[[nodiscard]] Result<Inspected<CpuCheckpoint>> inspect_cpu(std::string_view bytes);
[[nodiscard]] Result<Inspected<MemoryCheckpoint>> inspect_memory(std::string_view bytes);

}  // namespace pinfold::checkpoint
