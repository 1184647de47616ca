#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/text/words.hpp"

/// A kubelet's command line, and the configuration that it and its files make. Pure.
namespace pinfold {

/// The flags of a kubelet: "--config" to "/etc/kubelet.yaml"; a flag without a value has "true".
/// Of a flag that is given twice the last value counts; those of lists and maps are joined.
using KubeletFlags = std::map<std::string, std::string>;

/// The words of /proc/PID/cmdline.
[[nodiscard]] std::vector<std::string> parse_command_line(std::string_view cmdline);
/// nullopt for the command line of another program. The program is "kubelet", also as a word after
/// the name of a program that contains many ("hyperkube kubelet").
[[nodiscard]] std::optional<KubeletFlags> kubelet_flags(const std::vector<std::string>& words);
/// The flags of a command line without the program.
[[nodiscard]] KubeletFlags flags_of_words(const std::vector<std::string>& words);
/// "cpu-manager-policy=static", also with dashes before it, as flags.
[[nodiscard]] KubeletFlags flags_of_args(const std::vector<std::string>& args);
/// The flags of a file with one or more a line; "#" begins a comment.
[[nodiscard]] KubeletFlags flags_of_file(std::string_view text, const Variables& variables);
/// Puts flags over those before them.
void merge_flags(KubeletFlags& flags, const KubeletFlags& over);

/// Puts a drop-in of --config-dir, or another document, over a configuration: members of objects
/// are merged, anything else is replaced.
void merge_config(nlohmann::json& config, const nlohmann::json& over);
/// Puts the flags that decide about resources over a configuration, as a kubelet does. Errors:
/// kInvalidArgument for a flag's value that is no list of KEY=VALUE, or no number or boolean, where
/// the field needs one.
[[nodiscard]] Result<void> apply_flags(const KubeletFlags& flags, nlohmann::json& config);
/// Which flags apply_flags leaves out, and what flags are probably misspelt: warnings for the user.
[[nodiscard]] std::vector<std::string> flag_warnings(const KubeletFlags& flags);

}  // namespace pinfold
