#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/kubelet_flags.hpp"
#include "pinfold/base/result.hpp"

/// Finds the flags of a kubelet in systemd's units and environment files. Pure.
namespace pinfold {

/// The flags of a kubelet that were found in a file.
struct FlagsText {
  KubeletFlags flags = {};
  std::vector<std::string> notes = {};  ///< warnings: files that a unit refers to
  bool is_command = false;  ///< the command line of the kubelet was found: there are no others
  /// The words of a unit's ExecStart= with variables replaced, from the kubelet's program on. If no
  /// kubelet is among them: all words.
  std::vector<std::string> command = {};
  std::string refusal = {};  ///< why systemd does not start the unit; "": it does
  std::string hider = {};    ///< a program in ExecStart= that hides the kubelet's flags; "": none
};

/// The environment files that a systemd unit names.
struct UnitFiles {
  /// Returns the contents of the file at a path, or of those that match a pattern (glob(7)), in the
  /// order of their names; none if it cannot be read.
  std::function<std::vector<std::string>(const std::string& path)> read = nullptr;
  bool are_all = false;  ///< what `read` does not find does not exist
};

/// Returns the name of the unit that a file at an absolute path belongs to: its own, or for a
/// drop-in that of its directory, "kubelet.service.d". "" if neither names one unit. Source:
/// systemd.unit(5).
[[nodiscard]] std::string unit_of_path(std::string_view path);
/// Reads the flags that a systemd unit passes to a kubelet. `texts`: the unit's file, then its
/// drop-ins, in the order in which they apply; `name`: "kubelet.service", "" if unknown. Source:
/// systemd.service(5), systemd.exec(5).
[[nodiscard]] FlagsText flags_of_unit(const std::vector<std::string>& texts, std::string_view name,
                                      const UnitFiles& files = {});
/// Returns the flags in the variables of an environment file; lines may begin with "export".
[[nodiscard]] FlagsText flags_of_environment(std::string_view text);
/// Returns the flags of the kubelet that a command line starts: of a kubelet, k3s or RKE2; nullopt
/// for another program.
[[nodiscard]] std::optional<FlagsText> flags_of_command(const std::vector<std::string>& words);

/// Checks that the flags are those of the kubelet that the unit starts. Errors: kInvalidArgument if
/// systemd does not start it, or if a program hides the flags.
[[nodiscard]] Result<void> check_unit(const FlagsText& read);

}  // namespace pinfold
