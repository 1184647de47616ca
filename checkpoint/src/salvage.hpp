#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "go_value.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/note.hpp"

/// Reads the remains of a damaged state file.
namespace pinfold::checkpoint {

/// Returns the longest prefix of a text that closing brackets can complete to one JSON value, with
/// these brackets. It ends after the last complete value or opening bracket, or within the string
/// of the outermost member `data`, which is then closed, too. "" if there is no bracket. An object
/// or array without a syntax error is returned unchanged.
[[nodiscard]] std::string close_json(std::string_view text);

/// Removes the mark that some editors put before UTF-8 text, which is an error in JSON.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);

/// The versions as which the fields of a file can be read.
template <class Version>
struct FieldVersions {
  Version newest;
  Version data;       ///< for `data` of the newest version
  Version with_pods;  ///< for the fields outside `data`, with any pod entries
  Version plain;      ///< the version whose sum the outer fields have
};

/// Reads `data` of the newest version, or the outer fields if only their checksum is right. Finds
/// read() and sum_of() of the file by its Version.
template <class Version>
auto salvage_fields(std::string_view json, const FieldVersions<Version>& as) {
  const auto whole = read(json, as.newest, "");
  auto outside = read(json, as.with_pods, "");
  const std::string text = close_json(whole.data);
  if (text.empty()) return outside;
  auto data = read(text, as.data, "");
  const bool is_damaged = text != whole.data || whole.data_checksum != string_checksum(whole.data);
  const bool is_outside_right =
      outside.checksum != 0 && outside.checksum == sum_of(outside, as.plain);
  if (!is_damaged || (text == whole.data && !is_outside_right)) return data;
  if (outside.pods && outside.pods->empty()) outside.pods = std::move(data.pods);
  if constexpr (requires { outside.baselines; }) outside.baselines = std::move(data.baselines);
  return outside;
}

template <class State>
struct Salvaged {
  std::string policy;  ///< "" if it could not be read
  State state;
  /// The text has the key, perhaps with an incomplete value, or `data` ends before the key would
  /// come.
  bool may_have_baselines = false;
  std::vector<Note> lost;
};

/// Salvage a state, ignoring every error at which a kubelet would stop, including wrong checksums.
/// Domain: `json` has no syntax error (see close_json).
[[nodiscard]] Salvaged<CpuCheckpoint> salvage_cpu(std::string_view json, const ContainerIds& ids);
[[nodiscard]] Salvaged<MemoryCheckpoint> salvage_memory(std::string_view json);

}  // namespace pinfold::checkpoint
