#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pinfold/checkpoint/convert.hpp"

/// Reads what is left of a damaged state file.
namespace pinfold::checkpoint {

/// The longest prefix of a text that closing brackets can complete to one JSON value, with these
/// brackets: it ends after the last complete value or opening bracket. "" if there is no bracket.
/// An object or array without a syntax error is returned unchanged.
[[nodiscard]] std::string close_json(std::string_view text);

template <class State>
struct Salvaged {
  std::string policy;  ///< "" if it could not be read
  State state;
  std::vector<Note> lost;
};

/// Ignores every error at which a kubelet would stop, wrong checksums included.
/// Domain: `json` has no syntax error (see close_json).
[[nodiscard]] Salvaged<CpuCheckpoint> salvage_cpu(std::string_view json, const ContainerIds& ids);
[[nodiscard]] Salvaged<MemoryCheckpoint> salvage_memory(std::string_view json);

}  // namespace pinfold::checkpoint
