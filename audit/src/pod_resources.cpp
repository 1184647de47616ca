#include "pinfold/audit/pod_resources.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "pinfold/audit/proc_files.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::audit {
namespace {

using nlohmann::json;

/// Go's JSON has the names of protobuf's fields: "pod_resources" for podResources.
std::string with_underscores(std::string_view key) {
  std::string out;
  for (const char c : key) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (is_upper) out += '_';
    out += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

/// Returns an empty list if the member is absent: protobuf omits empty lists.
Result<json> list_at(const json& object, std::string_view path, std::string_view key) {
  const json* list = object.is_object() ? member(object, key) : nullptr;
  if (list == nullptr && object.is_object()) list = member(object, with_underscores(key));
  if (list == nullptr) return Result<json>(json::array());
  if (!list->is_array()) return fail_field(join(path, key), *list, "expected a list");
  return Result<json>(*list);
}

Result<std::string> name_at(const json& object, std::string_view path, std::string_view key) {
  if (!object.is_object()) return fail_field(path, object, "expected an object");
  const json* const name = member(object, key);
  if (name == nullptr) return std::string();
  return scalar_text(join(path, key), *name);
}

/// Parses CPU ids; protobuf prints 64-bit numbers as strings.
Result<CpuSet> cpus_of(const json& ids, std::string_view path) {
  CpuSet cpus;
  for (const json& id : ids) {
    const bool is_number = id.is_number_integer();
    const auto number = id.is_string()
                            ? parse_number(id.get<std::string>())
                            : std::optional<std::int64_t>(is_number ? id.get<std::int64_t>() : -1);
    if (!number || *number < 0 || *number >= CpuSet::kMaxCpus) {
      return fail_field(path, id, "expected the number of a CPU");
    }
    cpus.insert(CpuId{static_cast<std::int32_t>(*number)});
  }
  return cpus;
}

}  // namespace

Result<PodResources> parse_pod_resources(std::string_view text) {
  PINFOLD_LET(const json document, parse_document(text));
  if (!document.is_object()) return fail_field("", document, "expected an object");
  const bool is_answer =
      document.empty() || document.contains("podResources") || document.contains("pod_resources");
  if (!is_answer) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("it has no key 'podResources', only '{}': expected the answer of the "
                            "kubelet's PodResources service to List, as JSON",
                            printable(document.items().begin().key())));
  }
  PINFOLD_LET(const json pods, list_at(document, "", "podResources"));
  PodResources listed;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const std::string path = fmt::format("podResources[{}]", i);
    PINFOLD_LET(const std::string pod, name_at(pods[i], path, "name"));
    PINFOLD_LET(const std::string namespace_name, name_at(pods[i], path, "namespace"));
    PINFOLD_LET(const json containers, list_at(pods[i], path, "containers"));
    for (const json& container : containers) {
      PINFOLD_LET(std::string name, name_at(container, path + ".containers", "name"));
      PINFOLD_LET(const json ids, list_at(container, path + ".containers", "cpuIds"));
      PINFOLD_LET(CpuSet cpus, cpus_of(ids, path + ".containers.cpuIds"));
      listed.push_back({namespace_name, pod, std::move(name), std::move(cpus)});
    }
  }
  return listed;
}

}  // namespace pinfold::audit
