#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/text/words.hpp"

/// Reads a kubelet's command line, and builds the configuration from it and its files. Pure.
namespace pinfold {

/// The flags of a kubelet: "--config" to "/etc/kubelet.yaml"; a flag without a value has "true".
/// The last value of a repeated flag counts, but those of lists and maps add up: they are joined by
/// line ends. Names have dashes where a command line may have underscores. The name "--" holds the
/// first word that belongs to no flag, or a flag without its value: with either, a kubelet does not
/// start.
using KubeletFlags = std::map<std::string, std::string>;

/// Splits the contents of /proc/PID/cmdline into words.
[[nodiscard]] std::vector<std::string> parse_command_line(std::string_view cmdline);
/// Returns the flags of a kubelet's command line; nullopt for another program. The program is
/// "kubelet", or the first word after a multi-call program ("hyperkube kubelet").
[[nodiscard]] std::optional<KubeletFlags> kubelet_flags(const std::vector<std::string>& words);
/// Returns the flags of a command line without the program. Whether a value is a separate word
/// depends on the flag, as in the kubelet. Source: pflag.
[[nodiscard]] KubeletFlags flags_of_words(const std::vector<std::string>& words);
/// Returns the flags in arguments such as "cpu-manager-policy=static", with or without leading
/// dashes.
[[nodiscard]] KubeletFlags flags_of_args(const std::vector<std::string>& args);
/// Returns the decisive flags of the last start in a kubelet's log ("FLAG: --max-pods="110""). The
/// log lists all flags, with the values of the command line alone: a flag with its initial value
/// may be set by the file of --config, and is left out. nullopt if the text has none. Source:
/// component-base/cli/flag PrintFlags; kubernetes/kubernetes issue 122736.
[[nodiscard]] std::optional<KubeletFlags> flags_of_log(std::string_view text);
/// Returns the words of a file with one or more per line; "#" begins a comment.
[[nodiscard]] std::vector<std::string> words_of_file(std::string_view text,
                                                     const Variables& variables);
/// Applies the flags in `over` after those in `flags`.
void merge_flags(KubeletFlags& flags, const KubeletFlags& over);

/// Merges a drop-in of --config-dir, or another document, into a configuration: the members of
/// top-level objects are merged, anything else is replaced.
void merge_config(nlohmann::json& config, const nlohmann::json& over);
/// Makes the eviction settings of a file explicit, which a kubelet chooses before it merges
/// drop-ins. Source: kubelet v1.36 cmd/kubelet/app/server.go, loadConfigFile and
/// mergeKubeletConfigurations.
void set_eviction_defaults(nlohmann::json& config);
/// Applies the flags that affect resources to a configuration, as a kubelet does. Errors:
/// kInvalidArgument for a value that is not a list of KEY=VALUE, a number or a boolean where the
/// field needs one.
[[nodiscard]] Result<void> apply_flags(const KubeletFlags& flags, nlohmann::json& config);
/// Returns the name of the flag that sets a field: "--reserved-cpus"; "" if none does.
[[nodiscard]] std::string flag_name(std::string_view field);
/// Returns the flags that set a field to a value: "--reserved-cpus=0-1". Empty if no flag can.
[[nodiscard]] std::vector<std::string> flags_for(std::string_view field,
                                                 const nlohmann::json& value);
/// Adds the flags that k3s and RKE2 pass unless they are set. Source: k3s, pkg/daemons/agent.
void add_rancher_flags(KubeletFlags& flags);
/// Checks that a kubelet starts with these flags. Errors: kInvalidArgument for a flag that no
/// version of upstream's kubelet has and that resembles one of these (others may be a vendor's),
/// for an invalid boolean, for an empty policy, and for a word that is not a flag.
[[nodiscard]] Result<void> check_flags(const KubeletFlags& flags);
/// Returns a warning that names the flags that no version of upstream's kubelet has; "" if all
/// have.
[[nodiscard]] std::string unknown_flags(const KubeletFlags& flags);
/// Returns warnings for the user: unknown_flags(), and flags that apply_flags ignores.
[[nodiscard]] std::vector<std::string> flag_warnings(const KubeletFlags& flags);

}  // namespace pinfold
