#include "pinfold/kube_client/cluster_access.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "pinfold/base/read_file.hpp"
#include "pinfold/text/base64.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::kube_client {
namespace {

using nlohmann::json;

/// Returns a member that must be a string; "" if it is absent.
Result<std::string> text_of(const json& object, const std::string& path, std::string_view key) {
  const json* const value = member(object, key);
  if (value == nullptr) return "";
  if (!value->is_string()) return fail_field(join(path, key), *value, "expected a string");
  return value->get<std::string>();
}

/// Returns the entry of a list of named objects, {"name": ..., KIND: {...}}.
Result<const json*> find_named(const json& document, const std::string& list,
                               const std::string& kind, const std::string& name) {
  const json* const entries = member(document, list);
  if (entries != nullptr && entries->is_array()) {
    for (const json& entry : *entries) {
      if (!entry.is_object() || !entry.contains("name") || entry["name"] != name) continue;
      const json* const object = member(entry, kind);
      if (object != nullptr && object->is_object()) return object;
    }
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: expected one with the name '{}' and a member '{}'", list,
                          printable(name), kind));
}

std::string absolute(const std::string& file, const std::string& directory) {
  return file.empty() || file.starts_with('/') ? file : directory + "/" + file;
}

/// Reads KEY (a file) or KEY-data (base64); the latter wins if both are present.
Result<Pem> read_pem(const json& object, const std::string& path, const std::string& key,
                     const std::string& directory) {
  PINFOLD_LET(const auto data, text_of(object, path, key + "-data"));
  if (!data.empty()) return Pem{"", decode_base64(data)};
  PINFOLD_LET(const auto file, text_of(object, path, key));
  return Pem{absolute(file, directory), ""};
}

Result<void> read_cluster(const json& cluster, const std::string& directory, ClusterAccess& out) {
  PINFOLD_LET(out.server, text_of(cluster, "cluster", "server"));
  if (!out.server.starts_with("https://") && !out.server.starts_with("http://")) {
    return fail_field("cluster.server", out.server, "expected a URL, such as 'https://host:6443'");
  }
  while (out.server.ends_with('/')) out.server.pop_back();
  PINFOLD_LET(out.ca, read_pem(cluster, "cluster", "certificate-authority", directory));
  const json* const skips = member(cluster, "insecure-skip-tls-verify");
  if (skips != nullptr && !skips->is_boolean()) {
    return fail_field("cluster.insecure-skip-tls-verify", *skips, "expected true or false");
  }
  out.skips_verification = skips != nullptr && *skips == true;
  return {};
}

Result<void> read_user(const json& user, const std::string& directory, ClusterAccess& out) {
  for (const std::string key : {"exec", "auth-provider", "username"}) {
    if (member(user, key) == nullptr) continue;
    return fail(ErrorCode::kUnsupported,
                fmt::format("user.{}: expected a token, a tokenFile or a client certificate", key));
  }
  PINFOLD_LET(const auto token_file, text_of(user, "user", "tokenFile"));
  out.token_file = absolute(token_file, directory);
  PINFOLD_LET(out.token, text_of(user, "user", "token"));
  PINFOLD_LET(out.certificate, read_pem(user, "user", "client-certificate", directory));
  PINFOLD_LET(out.key, read_pem(user, "user", "client-key", directory));
  return {};
}

}  // namespace

Result<ClusterAccess> in_cluster_access(const std::function<std::string(const char*)>& variable) {
  const std::string host = variable("KUBERNETES_SERVICE_HOST");
  const std::string port = variable("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return fail(
        ErrorCode::kNotFound,
        "not in a Pod (KUBERNETES_SERVICE_HOST is not set): expected a kubeconfig; name one "
        "with --kubeconfig or in the settings file");
  }
  ClusterAccess access;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  access.server = fmt::format("https://{}:{}", is_ipv6 ? "[" + host + "]" : host, port);
  access.ca.file = fmt::format("{}/ca.crt", kServiceAccount);
  access.token_file = fmt::format("{}/token", kServiceAccount);
  return access;
}

Result<ClusterAccess> parse_kubeconfig(std::string_view yaml, const std::string& directory) {
  PINFOLD_LET(const auto document, parse_document(yaml));
  if (!document.is_object()) return fail_field("kubeconfig", document, "expected a mapping");
  PINFOLD_LET(const auto current, text_of(document, "", "current-context"));
  PINFOLD_LET(const json* const context, find_named(document, "contexts", "context", current));
  PINFOLD_LET(const auto cluster_name, text_of(*context, "context", "cluster"));
  PINFOLD_LET(const auto user_name, text_of(*context, "context", "user"));
  PINFOLD_LET(const json* const cluster, find_named(document, "clusters", "cluster", cluster_name));
  PINFOLD_LET(const json* const user, find_named(document, "users", "user", user_name));
  ClusterAccess access;
  PINFOLD_TRY(read_cluster(*cluster, directory, access));
  PINFOLD_TRY(read_user(*user, directory, access));
  return access;
}

Result<ClusterAccess> read_access(const std::string& kubeconfig,
                                  const std::function<std::string(const char*)>& variable) {
  if (kubeconfig.empty()) return in_cluster_access(variable);
  PINFOLD_LET(const auto text, read_file(kubeconfig));
  const auto directory = std::filesystem::absolute(kubeconfig).parent_path();
  PINFOLD_LET_WRAP(auto access, parse_kubeconfig(text, directory), fmt::format("'{}'", kubeconfig));
  return access;
}

}  // namespace pinfold::kube_client
