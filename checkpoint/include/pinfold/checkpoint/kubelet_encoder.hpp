#pragma once

#include <map>
#include <vector>

#include "pinfold/checkpoint/file_text.hpp"
#include "pinfold/checkpoint/go_dump.hpp"
#include "pinfold/cpu/cpu_manager.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/memory/memory_manager.hpp"

namespace pinfold::checkpoint {

/// A pod's entry in a file and in the dump that is summed, each with the separator before it.
struct EncodedEntry {
  FileText::Part json;
  DumpPart dump;
};
using EncodedEntries = std::map<PodUid, EncodedEntry>;

/// Writes the same bytes as encode_files() for one state after another, but encodes only entries of
/// pods that have changed since the state before. Not thread-safe.
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
    FileText text;  ///< the whole file
  };

  Encoded<CpuSet> cpu_;
  Encoded<std::vector<MemoryBlock>> memory_;
};

}  // namespace pinfold::checkpoint
