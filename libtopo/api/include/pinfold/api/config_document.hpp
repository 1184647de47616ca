#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/kubelet_flags.hpp"
#include "pinfold/base/result.hpp"

/// The files in which distributions and administrators keep a kubelet's configuration. Pure.
namespace pinfold {

/// A KubeletConfiguration that was found in a file.
// NOLINTNEXTLINE(bugprone-exception-escape): about json, whose moving asserts
struct ConfigDocument {
  nlohmann::json document = nlohmann::json::object();
  /// What the file leaves out, and which flags decide nothing: warnings for the user.
  std::vector<std::string> notes = {};
};

/// The flags of a kubelet in a command line (also of /proc/PID/cmdline), in a file with one flag a
/// line, in an environment file (KUBELET_EXTRA_ARGS=...) or in a unit of systemd or its drop-in.
/// nullopt if the text has none of these forms. `notes` of the result: files that a unit refers to.
struct FlagsText {
  KubeletFlags flags = {};
  std::vector<std::string> notes = {};
};
[[nodiscard]] std::optional<FlagsText> flags_of_text(std::string_view text);

/// Finds the kubelet's configuration in: a KubeletConfiguration, alone or among other documents; a
/// Talos machine configuration; config.yaml of k3s or RKE2; kubeadm's InitConfiguration and
/// JoinConfiguration; OpenShift's KubeletConfig; nodeadm's NodeConfig; a ConfigMap of kubeadm; the
/// answer of a kubelet's /configz; and everything that flags_of_text reads.
/// Errors: kInvalidArgument for any other kind of file, with what to pass in its place.
[[nodiscard]] Result<ConfigDocument> read_config_document(std::string_view text);

}  // namespace pinfold
