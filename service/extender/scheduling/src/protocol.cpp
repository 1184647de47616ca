#include "pinfold/scheduling/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "pinfold/kube/kind.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::scheduling {
namespace {

using nlohmann::json;

bool is_same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

/// Returns a member that is neither absent nor null, else nullptr.
const json* find_member(const json& object, std::string_view key) {
  for (auto it = object.begin(); it != object.end(); ++it) {
    if (is_same_name(it.key(), key)) return it->is_null() ? nullptr : &*it;
  }
  return nullptr;
}

Result<json> parse_object(std::string_view text) {
  PINFOLD_LET(auto document, kube::parse_json(text, "request"));
  if (!document.is_object()) return fail_field("request", document, "expected an object");
  return document;
}

Result<PodSpec> read_pod_member(const json& document) {
  const json* const pod = find_member(document, "Pod");
  if (pod == nullptr || !pod->is_object()) {
    return fail_field("Pod", pod == nullptr ? json() : *pod, "expected a Pod");
  }
  PINFOLD_LET_WRAP(auto spec, pod_from_json(*pod), "Pod");
  apply_defaults(spec);
  return spec;
}

/// Returns the node to which a pod is nominated; "" if it is to none.
std::string read_nominated(const json& pod) {
  const json* const status = member(pod, "status");
  const json* const node =
      status != nullptr && status->is_object() ? member(*status, "nominatedNodeName") : nullptr;
  return node != nullptr && node->is_string() ? node->get<std::string>() : "";
}

Result<std::vector<std::string>> read_names(const json& names) {
  if (!names.is_array()) return fail_field("NodeNames", names, "expected a list of names");
  std::vector<std::string> out;
  out.reserve(names.size());
  for (const json& name : names) {
    if (!name.is_string()) {
      return fail_field(fmt::format("NodeNames[{}]", out.size()), name, "expected a string");
    }
    out.push_back(name.get<std::string>());
  }
  return out;
}

Result<void> read_nodes(const json& nodes, ExtenderArgs& args) {
  const json* const items = nodes.is_object() ? find_member(nodes, "items") : nullptr;
  if (items == nullptr) return {};  // Go writes an empty list as null
  if (!items->is_array()) return fail_field("Nodes.items", *items, "expected a list");
  for (const json& node : *items) {
    PINFOLD_LET_WRAP(auto name, kube::key_of(kube::Kind::kNodes, node),
                     fmt::format("Nodes.items[{}]", args.nodes.size()));
    args.nodes.push_back(std::move(name));
    args.objects.push_back(node);
  }
  return {};
}

/// A victim is a MetaPod, {"UID": ...}, or a whole Pod.
Result<PodUid> read_victim(const json& pod, const std::string& path) {
  if (!pod.is_object()) return fail_field(path, pod, "expected an object");
  const json* uid = find_member(pod, "UID");
  if (uid == nullptr) {
    const json* const metadata = member(pod, "metadata");
    uid = metadata != nullptr && metadata->is_object() ? member(*metadata, "uid") : nullptr;
  }
  if (uid == nullptr || !uid->is_string()) {
    return fail_field(path + ".UID", uid == nullptr ? json() : *uid, "expected a string");
  }
  return PodUid(uid->get<std::string>());
}

Result<NodeVictims> read_node_victims(const json& victims, const std::string& path) {
  if (!victims.is_object()) return fail_field(path, victims, "expected an object");
  NodeVictims out;
  if (const json* const count = find_member(victims, "NumPDBViolations")) {
    if (!count->is_number_integer()) {
      return fail_field(path + ".NumPDBViolations", *count, "expected a whole number");
    }
    out.pdb_violations = count->get<std::int64_t>();
  }
  const json* const pods = find_member(victims, "Pods");
  if (pods == nullptr) return out;
  if (!pods->is_array()) return fail_field(path + ".Pods", *pods, "expected a list");
  for (const json& pod : *pods) {
    PINFOLD_LET(auto uid, read_victim(pod, fmt::format("{}.Pods[{}]", path, out.pods.size())));
    out.pods.push_back(std::move(uid));
  }
  return out;
}

}  // namespace

Result<ExtenderArgs> parse_extender_args(std::string_view text) {
  PINFOLD_LET(const auto document, parse_object(text));
  ExtenderArgs args;
  PINFOLD_LET(args.pod, read_pod_member(document));
  args.nominated = read_nominated(*find_member(document, "Pod"));
  if (const json* const names = find_member(document, "NodeNames")) {
    PINFOLD_LET(args.nodes, read_names(*names));
  } else if (const json* const nodes = find_member(document, "Nodes")) {
    PINFOLD_TRY(read_nodes(*nodes, args));
  } else {
    return fail(ErrorCode::kInvalidArgument, "request: expected 'NodeNames' or 'Nodes'");
  }
  return args;
}

json to_json(const FilterResult& result, const ExtenderArgs& args) {
  json failed = json::object();
  json unresolvable = json::object();
  for (const auto& [node, why] : result.failed) {
    (node == args.nominated ? failed : unresolvable)[node] = why;
  }
  json out = {{"FailedNodes", std::move(failed)},
              {"FailedAndUnresolvableNodes", std::move(unresolvable)},
              {"Error", ""}};
  json passed = json::array();
  const bool has_objects = !args.objects.empty();
  for (const std::size_t i : result.passed) {
    passed.push_back(has_objects ? args.objects[i] : json(args.nodes[i]));
  }
  if (has_objects) {
    out["Nodes"]["items"] = std::move(passed);
  } else {
    out["NodeNames"] = std::move(passed);
  }
  return out;
}

json filter_error(std::string_view message) { return {{"Error", message}}; }

json to_json(const std::vector<HostPriority>& priorities) {
  json out = json::array();
  for (const auto& [host, score] : priorities) out.push_back({{"Host", host}, {"Score", score}});
  return out;
}

Result<PreemptionArgs> parse_preemption_args(std::string_view text) {
  PINFOLD_LET(const auto document, parse_object(text));
  PreemptionArgs args;
  PINFOLD_LET(args.pod, read_pod_member(document));
  for (const std::string key : {"NodeNameToMetaVictims", "NodeNameToVictims"}) {
    const json* const nodes = find_member(document, key);
    if (nodes == nullptr) continue;
    if (!nodes->is_object()) return fail_field(key, *nodes, "expected an object");
    for (const auto& [node, victims] : nodes->items()) {
      PINFOLD_LET(args.victims[node], read_node_victims(victims, fmt::format("{}.{}", key, node)));
    }
  }
  return args;
}

json to_json(const VictimsByNode& victims) {
  json nodes = json::object();
  for (const auto& [node, of_node] : victims) {
    json pods = json::array();
    for (const PodUid& uid : of_node.pods) pods.push_back({{"UID", uid.value}});
    nodes[node] = {{"Pods", std::move(pods)}, {"NumPDBViolations", of_node.pdb_violations}};
  }
  return {{"NodeNameToMetaVictims", std::move(nodes)}};
}

}  // namespace pinfold::scheduling
