#pragma once

#include <string>
#include <string_view>

#include "pinfold/checkpoint/kubelet_files.hpp"

/// State files as they are, whoever may be configured to read them.
namespace pinfold::checkpoint {

template <class State>
struct Inspected {
  int version = 0;  ///< the newest format that the bytes are, checksum included
  std::string policy;
  State state;  ///< of CPU V1: container ids stand as containers of a pod ""
};

/// Errors: kCorrupt, with the kubelet's text for the oldest format.
[[nodiscard]] Result<Inspected<CpuCheckpoint>> inspect_cpu(std::string_view bytes);
[[nodiscard]] Result<Inspected<MemoryCheckpoint>> inspect_memory(std::string_view bytes);

}  // namespace pinfold::checkpoint
