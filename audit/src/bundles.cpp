#include "pinfold/audit/bundles.hpp"

#include <nlohmann/json.hpp>

#include "pinfold/audit/proc_files.hpp"

namespace pinfold::audit {
namespace {

using nlohmann::json;

/// The annotation keys in which a runtime stores the kubelet's information.
struct Keys {
  const char* container;
  const char* pod;
  const char* namespace_name;
  const char* uid;
  const char* kind;
  const char* sandbox;  ///< the value of `kind` for a sandbox
};
constexpr Keys kContainerd = {
    "io.kubernetes.cri.container-name",    "io.kubernetes.cri.sandbox-name",
    "io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-uid",
    "io.kubernetes.cri.container-type",    "sandbox"};
constexpr Keys kCrio = {"io.kubernetes.container.name",      "io.kubernetes.pod.name",
                        "io.kubernetes.pod.namespace",       "io.kubernetes.pod.uid",
                        "io.kubernetes.cri-o.ContainerType", "sandbox"};
constexpr Keys kDocker = {"io.kubernetes.container.name", "io.kubernetes.pod.name",
                          "io.kubernetes.pod.namespace",  "io.kubernetes.pod.uid",
                          "io.kubernetes.docker.type",    "podsandbox"};

const json* object_at(const json* object, const char* key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(key);
  return found == object->end() ? nullptr : &*found;
}

std::string text_of(const json& object, const char* key) {
  const json* const value = object_at(&object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

std::optional<ContainerName> name_of(const json* labels, const Keys& keys) {
  if (labels == nullptr || !labels->is_object()) return std::nullopt;
  ContainerName name;
  name.namespace_name = text_of(*labels, keys.namespace_name);
  name.pod = text_of(*labels, keys.pod);
  name.uid = text_of(*labels, keys.uid);
  name.is_sandbox = text_of(*labels, keys.kind) == keys.sandbox;
  if (!name.is_sandbox) name.container = text_of(*labels, keys.container);
  if (!name.is_sandbox && name.container.empty()) return std::nullopt;
  return name;
}

}  // namespace

std::optional<ContainerName> parse_bundle(std::string_view config_json) {
  const json document = json::parse(config_json, nullptr, false);
  const json* const annotations = object_at(&document, "annotations");
  if (auto name = name_of(annotations, kContainerd)) return name;
  return name_of(annotations, kCrio);
}

std::optional<ContainerName> parse_docker_config(std::string_view config_json) {
  const json document = json::parse(config_json, nullptr, false);
  return name_of(object_at(object_at(&document, "Config"), "Labels"), kDocker);
}

std::optional<pid_t> parse_init(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  const auto valid = [](std::optional<std::int64_t> pid) {
    return pid && *pid > 0 && *pid <= INT32_MAX ? std::optional(static_cast<pid_t>(*pid))
                                                : std::nullopt;
  };
  if (!text.starts_with('{')) return valid(parse_number(text));
  const json document = json::parse(text, nullptr, false);
  for (const char* const key : {"init_process_pid", "pid"}) {
    const json* const value = object_at(&document, key);
    if (value != nullptr && value->is_number_integer()) return valid(value->get<std::int64_t>());
  }
  return std::nullopt;
}

}  // namespace pinfold::audit
