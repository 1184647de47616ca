#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

/// A kubelet's command line, and the configuration that it and its files make. Pure.
namespace pinfold::audit {

/// The flags of a kubelet: "--config" to "/etc/kubelet.yaml"; a flag without a value has "true".
using KubeletFlags = std::map<std::string, std::string>;

/// The words of /proc/PID/cmdline.
[[nodiscard]] std::vector<std::string> parse_command_line(std::string_view cmdline);
/// nullopt for the command line of another program. The program is "kubelet", also as a word after
/// the name of a program that contains many ("hyperkube kubelet").
[[nodiscard]] std::optional<KubeletFlags> kubelet_flags(const std::vector<std::string>& words);

/// Puts a drop-in of --config-dir, or another document, over a configuration: members of objects
/// are merged, anything else is replaced.
void merge_config(nlohmann::json& config, const nlohmann::json& over);
/// Puts the flags that decide about resources over a configuration, as a kubelet does. Errors:
/// kInvalidArgument for a flag's value that is no list of KEY=VALUE, or no number or boolean, where
/// the field needs one.
[[nodiscard]] Result<void> apply_flags(const KubeletFlags& flags, nlohmann::json& config);

}  // namespace pinfold::audit
