#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/runtime.hpp"
#include "pinfold/harness/scenario.hpp"
#include "pinfold/harness/vm.hpp"

/// A kubelet in a guest: standalone, with static pods, on the guest's container runtime. Its
/// program is the user's.
namespace pinfold::harness {

/// The directory of the manifests in the guest.
inline constexpr const char* kManifests = "/etc/kubernetes/manifests";
/// The kubelet's configuration and state files in the guest.
inline constexpr const char* kKubeletFolder = "/var/lib/kubelet";

/// The kubelets whose state files and decisions Pinfold knows: 1.35 to 1.38.
inline constexpr int kOldestKnownMinor = 35;
inline constexpr int kNewestKnownMinor = 38;

/// Checks that the programs of a scenario's kubelets can run in its guest: whole ELF programs for
/// its architecture, whose libraries this host has, and which fit into its memory. Errors:
/// kNotFound, kInvalidArgument.
[[nodiscard]] Result<void> check_kubelets(const Scenario& scenario);

/// Reads what a program prints for `--version`. Returns a note if it is a kubelet that Pinfold does
/// not know, else "". Errors: kInvalidArgument: it is not a kubelet.
[[nodiscard]] Result<std::string> check_kubelet_version(const std::filesystem::path& program,
                                                        std::string_view printed);

/// Returns the programs with their paths in the guest, and the files that kubelets need. The
/// certificate is made once and kept in the cache, so that equal programs give equal guests.
/// Errors: kNotFound, kIo: openssl cannot be run.
[[nodiscard]] Result<InitramfsParts> prepare_kubelets(
    const std::vector<std::filesystem::path>& kubelets);
/// Returns the path in the guest of one of `kubelets`. The program is always named "kubelet".
[[nodiscard]] std::string kubelet_in_guest(const std::vector<std::filesystem::path>& kubelets,
                                           const std::filesystem::path& program);

/// Returns the configuration of a kubelet in the guest: the scenario's, completed with what a
/// standalone kubelet on the harness's container runtime needs.
[[nodiscard]] Json kubelet_config(const Json& config);

/// Returns the manifest of a static pod for the guest, as JSON: on the host's network, with the
/// guest's own images in place of those of other registries (kubelet_requests has the rules).
/// Errors: kInvalidArgument for a text that is not an object with a `spec`.
[[nodiscard]] Result<Json> static_pod(std::string_view manifest);

/// The result of a verb of kubelet.sh.
struct KubeletAnswer {
  bool has_ended = false;   ///< it had ended, or ended instead; for `wait`: it was killed
  std::string output = {};  ///< of `pods`
  std::string error = {};   ///< "": the verb has succeeded, or `has_ended`
};
/// Runs kubelet.sh in the guest: a verb and its arguments.
[[nodiscard]] VmResult<KubeletAnswer> control_kubelet(Vm& vm, std::vector<std::string> arguments,
                                                      Milliseconds limit);

}  // namespace pinfold::harness
