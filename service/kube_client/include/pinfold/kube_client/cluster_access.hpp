#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

namespace pinfold::kube_client {

/// A certificate or key: a file, which is read again for every connection, or PEM text.
struct Pem {
  std::string file;
  std::string text;  ///< if `file` is ""

  [[nodiscard]] bool empty() const { return file.empty() && text.empty(); }
  friend bool operator==(const Pem&, const Pem&) = default;
};

/// How to reach an API server.
struct ClusterAccess {
  std::string server;  ///< "https://10.0.0.1:6443"
  Pem ca;              ///< empty: the certificates of the system
  bool skips_verification = false;
  std::string token_file;  ///< read again for every request: tokens rotate
  std::string token;       ///< if `token_file` is ""
  Pem certificate;         ///< of this client
  Pem key;

  friend bool operator==(const ClusterAccess&, const ClusterAccess&) = default;
};

/// Where a Pod finds its service account.
inline constexpr std::string_view kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Returns the access that every Pod has. `variable` returns the value of a variable of the
/// environment, "" if it is not set. Errors: kNotFound outside a Pod.
[[nodiscard]] Result<ClusterAccess> in_cluster_access(
    const std::function<std::string(const char*)>& variable);

/// Reads the current context of a kubeconfig. Relative files are relative to `directory`.
/// Errors: kInvalidArgument, with the member; kUnsupported for users that authenticate by a program
/// or a provider.
[[nodiscard]] Result<ClusterAccess> parse_kubeconfig(std::string_view yaml,
                                                     const std::string& directory);

/// Returns the access of a kubeconfig file, or that of the Pod if its name is "".
/// Errors: those of read_file, parse_kubeconfig and in_cluster_access.
[[nodiscard]] Result<ClusterAccess> read_access(
    const std::string& kubeconfig, const std::function<std::string(const char*)>& variable);

}  // namespace pinfold::kube_client
