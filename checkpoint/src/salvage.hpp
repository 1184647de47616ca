#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pinfold/checkpoint/convert.hpp"

/// What can be read of a damaged state file.
namespace pinfold::checkpoint {

/// The longest beginning of a text that can be closed to one JSON value: ends behind the last
/// complete value or empty bracket. "" if there is no bracket. A text without a syntax error and
/// with an object or array comes back as it is.
[[nodiscard]] std::string close_json(std::string_view text);

template <class State>
struct Salvaged {
  bool is_newest = false;  ///< CPU V4 or memory V3
  std::string policy;      ///< "" if it could not be read
  State state;
  std::vector<Note> lost;
};

/// Reads on over everything that a kubelet would stop at, checksums included.
/// Domain: no syntax error (close_json).
[[nodiscard]] Salvaged<CpuCheckpoint> salvage_cpu(std::string_view json, const ContainerIds& ids);
[[nodiscard]] Salvaged<MemoryCheckpoint> salvage_memory(std::string_view json);

}  // namespace pinfold::checkpoint
