#pragma once

#include <optional>
#include <string_view>

#include "pinfold/api/kubelet_unit.hpp"

/// Texts that show the command of a kubelet, as people copy them from a node. Pure.
namespace pinfold {

/// Reads the flags of a kubelet from a command line (including /proc/PID/cmdline, and those of k3s
/// and RKE2), a file with one flag per line, an environment file (KUBELET_EXTRA_ARGS=...), a
/// systemd unit or its drop-in, a kubelet's log, or the output of ps, pgrep -a or systemctl status
/// for one kubelet. `unit`: the name of the unit, if known. nullopt if the text has none of these
/// forms.
[[nodiscard]] std::optional<FlagsText> flags_of_text(std::string_view text,
                                                     std::string_view unit = {},
                                                     const UnitFiles& files = {});

/// Returns whether a text has the word "kubelet": without flags, it may still be about one.
[[nodiscard]] bool names_kubelet(std::string_view text);

/// Returns the first line that is neither empty nor a comment.
[[nodiscard]] std::string_view first_line(std::string_view text);
/// Returns whether a text has the command of a kubelet in a line that is cut off.
[[nodiscard]] bool has_cut_command(std::string_view text);
/// Returns whether a text names the process of a program that contains a kubelet.
[[nodiscard]] bool shows_host(std::string_view text);

}  // namespace pinfold
