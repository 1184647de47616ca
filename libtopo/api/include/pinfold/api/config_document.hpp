#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/kubelet_flags.hpp"
#include "pinfold/base/result.hpp"

/// Finds a kubelet's configuration in the files of distributions and administrators. Pure.
namespace pinfold {

/// A KubeletConfiguration found in a file.
// NOLINTNEXTLINE(bugprone-exception-escape): moving nlohmann's JSON asserts
struct ConfigDocument {
  nlohmann::json document = nlohmann::json::object();
  /// Warnings for the user: settings that the file leaves out, and flags that have no effect.
  std::vector<std::string> notes = {};
};

/// The flags of a kubelet that a file has.
struct FlagsText {
  KubeletFlags flags = {};
  std::vector<std::string> notes = {};  ///< warnings: files that a unit refers to
  bool is_command = false;  ///< the command line of the kubelet was found: there are no others
  /// The words of a unit's ExecStart= with variables replaced, from the kubelet's program on. If no
  /// kubelet is among them: all words.
  std::vector<std::string> command = {};
};

/// The environment files that a systemd unit names.
struct UnitFiles {
  /// Returns the contents of a file; nullopt if it cannot be read.
  std::function<std::optional<std::string>(const std::string& path)> read = nullptr;
  bool are_all = false;  ///< what `read` does not find does not exist
};
/// Reads the flags of a kubelet from a command line (including /proc/PID/cmdline), a file with one
/// flag per line, an environment file (KUBELET_EXTRA_ARGS=...), or a systemd unit or its drop-in.
/// nullopt if the text has none of these forms.
[[nodiscard]] std::optional<FlagsText> flags_of_text(std::string_view text,
                                                     const UnitFiles& files = {});

/// Reads the flags of a kubelet from a systemd unit, followed by its drop-ins.
[[nodiscard]] FlagsText flags_of_unit(std::string_view text, const UnitFiles& files = {});

/// Applies flags to a configuration; `notes` names those without effect. Errors: kInvalidArgument
/// for a value of the wrong form, for a flag that is probably misspelt, and if the flags have no
/// effect and name another file for an empty configuration.
[[nodiscard]] Result<void> add_flags(const KubeletFlags& flags, ConfigDocument& config);

/// Finds the kubelet's configuration in any of these: a KubeletConfiguration, alone or among other
/// documents; a Talos machine configuration; config.yaml of k3s or RKE2; kubeadm's
/// InitConfiguration and JoinConfiguration; OpenShift's KubeletConfig; nodeadm's NodeConfig; a
/// kubeadm ConfigMap; the answer of a kubelet's /configz; and everything that flags_of_text reads.
/// Errors: kInvalidArgument for any other kind of file, with advice on what to pass instead.
[[nodiscard]] Result<ConfigDocument> read_config_document(std::string_view text);

}  // namespace pinfold
