#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/command_texts.hpp"
#include "pinfold/api/config.hpp"
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
  /// Flags, or settings that a distribution completes: others may be set elsewhere.
  bool is_partial = false;
  ConfigSources sources = {};  ///< the advice on the complete configuration is in `notes`
};

/// Applies flags to a configuration; `notes` names those without effect. Errors: kInvalidArgument
/// for flags that a kubelet does not start with, and if they name the file with the rest of the
/// configuration while `config` is empty. A kubelet whose whole command line has no file has no
/// default evictionHard. Source: kubelet v1.36 cmd/kubelet/app/server.go, loadConfigFile.
[[nodiscard]] Result<void> add_flags(const FlagsText& read, ConfigDocument& config);

/// Notes that a file, or that flags, set fields.
void note_source(const std::string& file, const nlohmann::json& document, ConfigSources& sources);
void note_sources(const KubeletFlags& flags, ConfigSources& sources);

/// Return the fields of the managers' policies that a partial or any configuration leaves out: see
/// ParsedConfig.
[[nodiscard]] std::vector<std::string> unset_policies(const ConfigDocument& config);
[[nodiscard]] std::vector<std::string> open_policies(const ConfigDocument& config);

/// Finds the kubelet's configuration in any of these: a KubeletConfiguration, alone or among other
/// documents; a Talos machine configuration; config.yaml of k3s or RKE2; kubeadm's
/// InitConfiguration and JoinConfiguration; OpenShift's KubeletConfig; nodeadm's NodeConfig; a
/// kubeadm ConfigMap; the answer of a kubelet's /configz; a script that calls EKS' bootstrap.sh;
/// and everything that flags_of_text reads. Errors: kInvalidArgument for any other kind of file,
/// with advice on what to pass instead.
[[nodiscard]] Result<ConfigDocument> read_config_document(std::string_view text,
                                                          std::string_view unit = {});

}  // namespace pinfold
