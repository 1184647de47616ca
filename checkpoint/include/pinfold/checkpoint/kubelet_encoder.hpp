#pragma once

#include <vector>

#include "pinfold/checkpoint/encoded_entries.hpp"
#include "pinfold/checkpoint/file_text.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/memory/memory_manager.hpp"

namespace pinfold::checkpoint {

/// Writes the same bytes as encode_files() for a sequence of states, but encodes only entries of
/// pods that have changed since the previous state, and shares the others with its earlier texts.
/// Not thread-safe.
class KubeletEncoder {
 public:
  [[nodiscard]] FileText cpu(const Node& node, const CpuCheckpoint& state);
  [[nodiscard]] FileText memory(const Node& node, const MemoryCheckpoint& state);

 private:
  /// The assignments that were encoded last.
  template <class T>
  struct Encoded {
    ContainerMap<T> assignments;
    EncodedEntries entries;
  };

  Encoded<CpuSet> cpu_;
  Encoded<std::vector<MemoryBlock>> memory_;
};

}  // namespace pinfold::checkpoint
