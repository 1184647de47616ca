#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/text/words.hpp"

/// Distributions whose program contains a kubelet, or starts one: k3s, RKE2, k0s, MicroK8s. Pure.
namespace pinfold::audit {

/// Where a distribution keeps the flags of its kubelet.
enum class FlagSource {
  kRancher,   ///< "kubelet-arg" of its configuration files and of its command line
  kK0s,       ///< --kubelet-extra-args of its command line
  kArgsFile,  ///< a file with one flag a line
};

struct Distribution {
  std::string_view program;                       ///< "k3s"
  std::array<std::string_view, 2> commands = {};  ///< of the program that run a kubelet; "": none
  FlagSource source = FlagSource::kRancher;
  bool is_inside = false;     ///< the kubelet is a part of the program's process
  std::string_view settings;  ///< the file with the flags, or the kubelet's configuration
  std::string_view data_dir = {};
  std::array<std::string_view, 2> units;  ///< without ".service"
};
/// All that are known.
[[nodiscard]] const std::array<Distribution, 4>& distributions();

/// A program of a distribution with its arguments.
struct KubeletHost {
  const Distribution* distribution = nullptr;
  std::string title;  ///< "k3s server"
  /// Those after the command. k3s hides them from others.
  std::vector<std::string> arguments = {};
};
/// nullopt for the command line of any other program, and of one that runs no kubelet.
[[nodiscard]] std::optional<KubeletHost> kubelet_host(const std::vector<std::string>& words);

/// What matters of a configuration of k3s or RKE2.
struct RancherConfig {
  std::vector<std::string> kubelet_args = {};
  std::string data_dir = {};
  bool has_kubelet = true;  ///< false: "disable-agent"

  friend bool operator==(const RancherConfig&, const RancherConfig&) = default;
};
/// Puts one file over those before it: a key replaces, a key with a plus sign at its end appends.
/// Source: docs.k3s.io, "Configuration file".
void merge_rancher(RancherConfig& config, const nlohmann::json& document);
/// Puts a command line over the files. Its lists append.
void merge_rancher(RancherConfig& config, const std::vector<std::string>& arguments);

}  // namespace pinfold::audit
