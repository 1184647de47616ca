#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/fields/fields.hpp"
#include "pinfold/quiet/knob.hpp"

namespace pinfold::quiet {

/// The record of a knob that Pinfold has changed.
struct KeptKnob {
  std::string before;             ///< its value before, byte for byte
  std::vector<std::string> ours;  ///< values that Pinfold has written or is about to write
  /// For irqbalance: the last of these has been written, not only tried.
  bool is_written = false;

  friend bool operator==(const KeptKnob&, const KeptKnob&) = default;
};
using KeptKnobs = std::map<Knob, KeptKnob>;

/// Encodes the side file: JSON. `boot_id`: of the running kernel, because a reboot resets every
/// knob.
[[nodiscard]] std::string encode_kept(const KeptKnobs& kept, std::string_view boot_id);
/// Decodes it; returns nothing if it is from another boot. Errors: kCorrupt.
[[nodiscard]] Result<KeptKnobs> decode_kept(std::string_view text, std::string_view boot_id);

}  // namespace pinfold::quiet
