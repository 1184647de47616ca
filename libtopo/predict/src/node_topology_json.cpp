#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pinfold/api/pod.hpp"
#include "pinfold/predict/node_topology.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"
#include "topology_names.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

constexpr std::string_view kGroup = "topology.node.k8s.io/";
constexpr std::string_view kKind = "NodeResourceTopology";

/// Returns a member that must be a list; nullptr if it is absent.
Result<const json*> list_member(const json& parent, const std::string& path, std::string_view key) {
  const json* const value = member(parent, key);
  if (value != nullptr && !value->is_array()) {
    return fail_field(join(path, key), *value, "expected a list");
  }
  return value;
}

/// Reads every item of a list, which may be absent, with read(item, path) -> Result<Item>.
template <class Item, class Read>
Result<std::vector<Item>> read_each(const json& parent, const std::string& path,
                                    std::string_view key, Read&& read) {
  std::vector<Item> items;
  PINFOLD_LET(const auto list, list_member(parent, path, key));
  if (list == nullptr) return items;
  items.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string where = fmt::format("{}[{}]", join(path, key), i);
    PINFOLD_LET(auto item, read((*list)[i], where));
    items.push_back(std::move(item));
  }
  return items;
}

Result<std::string> text_of(const json& parent, const std::string& path, std::string_view key) {
  if (!parent.is_object()) return fail_field(path, parent, "expected an object");
  const json* const value = member(parent, key);
  if (value == nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: missing: expected a string", printable(join(path, key))));
  }
  if (!value->is_string() || value->get_ref<const std::string&>().empty()) {
    return fail_field(join(path, key), *value, "expected a string");
  }
  return value->get<std::string>();
}

Result<Quantity> read_amount(const json& item, const std::string& path, std::string_view key) {
  const json* const value = member(item, key);
  const std::string field = join(path, key);
  if (value == nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: missing: expected a quantity", printable(field)));
  }
  if (!value->is_string() && !value->is_number()) {
    return fail_field(field, *value, "expected a quantity");
  }
  const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
  const auto amount = Quantity::parse(text);
  if (!amount) return fail_field(field, *value, expected_quantity(text));
  if (amount->sign() < 0) return fail_field(field, *value, "expected 0 or more");
  return *amount;
}

Result<ZoneResource> read_resource(const json& item, const std::string& path) {
  ZoneResource resource;
  PINFOLD_LET(resource.name, text_of(item, path, "name"));
  for (const auto& [key, target] :
       {std::pair("capacity", &resource.capacity), std::pair("allocatable", &resource.allocatable),
        std::pair("available", &resource.available)}) {
    PINFOLD_LET(const auto amount, read_amount(item, path, key));
    *target = amount;
  }
  return resource;
}

Result<ZoneCost> read_cost(const json& item, const std::string& path) {
  PINFOLD_LET(auto zone, text_of(item, path, "name"));
  const json* const value = member(item, "value");
  if (value == nullptr || !value->is_number_integer() ||
      (value->is_number_unsigned() &&
       value->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})) {
    return fail_field(join(path, "value"), value == nullptr ? json() : *value,
                      "expected a whole number");
  }
  return ZoneCost{std::move(zone), value->get<std::int64_t>()};
}

Result<TopologyAttribute> read_attribute(const json& item, const std::string& path) {
  PINFOLD_LET(auto name, text_of(item, path, "name"));
  const json* const value = member(item, "value");
  if (value == nullptr || !value->is_string()) {
    return fail_field(join(path, "value"), value == nullptr ? json() : *value, "expected a string");
  }
  return TopologyAttribute{std::move(name), value->get<std::string>()};
}

/// Returns a name that several items share; nullptr if all are unique.
template <class Item>
const std::string* repeated_name(const std::vector<Item>& items) {
  std::vector<const std::string*> names;
  names.reserve(items.size());
  for (const Item& item : items) names.push_back(&item.name);
  std::sort(names.begin(), names.end(), [](const auto* a, const auto* b) { return *a < *b; });
  const auto twin = std::adjacent_find(names.begin(), names.end(),
                                       [](const auto* a, const auto* b) { return *a == *b; });
  return twin == names.end() ? nullptr : *twin;
}

Result<Zone> read_zone(const json& item, const std::string& path) {
  Zone zone;
  for (const auto& [key, target] : {std::pair("name", &zone.name), std::pair("type", &zone.type)}) {
    PINFOLD_LET(auto text, text_of(item, path, key));
    *target = std::move(text);
  }
  if (member(item, "parent") != nullptr) {
    PINFOLD_LET(zone.parent, text_of(item, path, "parent"));
  }
  PINFOLD_LET(zone.costs, read_each<ZoneCost>(item, path, "costs", read_cost));
  PINFOLD_LET(zone.attributes,
              read_each<TopologyAttribute>(item, path, "attributes", read_attribute));
  PINFOLD_LET(auto resources, read_each<ZoneResource>(item, path, "resources", read_resource));
  zone.resources = std::move(resources);
  if (const std::string* const twin = repeated_name(zone.resources)) {
    return fail_field(path + ".resources", *twin, "expected a unique name");
  }
  return zone;
}

Result<void> check_kind(const json& document) {
  if (!document.is_object()) return fail_field("document", document, "expected an object");
  const json* const kind = member(document, "kind");
  if (kind == nullptr || *kind != kKind) {
    return fail_field("kind", kind == nullptr ? json() : *kind,
                      fmt::format("expected '{}'", kKind));
  }
  const json* const version = member(document, "apiVersion");
  for (const std::string_view known : {"v1alpha2", "v1alpha1"}) {
    if (version != nullptr && *version == fmt::format("{}{}", kGroup, known)) return {};
  }
  return fail_field("apiVersion", version == nullptr ? json() : *version,
                    fmt::format("expected '{0}v1alpha2' or '{0}v1alpha1'", kGroup));
}

/// Returns warnings about unknown policies, which schedulers treat as none.
std::vector<std::string> unknown_policies(const NodeTopology& topology) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& path, const std::string& value, const char* expected,
                       const char* effect) {
    out.push_back(
        fmt::format("{}: '{}': expected {}; {}", path, printable(value), expected, effect));
  };
  for (std::size_t i = 0; i < topology.attributes.size(); ++i) {
    const auto& [name, value] = topology.attributes[i];
    const std::string path = fmt::format("attributes[{}].value", i);
    if (name == predict::kPolicyAttribute && !parse_topology_policy(value)) {
      add(path, value, "none, best-effort, restricted or single-numa-node",
          "the node counts as one without a policy");
    }
    if (name == predict::kScopeAttribute && !parse_topology_scope(value)) {
      add(path, value, "container or pod", "counts as container");
    }
  }
  const bool has_attribute =
      std::any_of(topology.attributes.begin(), topology.attributes.end(),
                  [](const auto& one) { return one.name == predict::kPolicyAttribute; });
  for (std::size_t i = 0; i < topology.legacy_policies.size(); ++i) {
    const std::string& name = topology.legacy_policies[i];
    if (predict::find_legacy(name) != nullptr) continue;
    add(fmt::format("topologyPolicies[{}]", i), name,
        "None, BestEffort, Restricted or SingleNUMANode, the last three followed by ContainerLevel "
        "or PodLevel",
        has_attribute ? "no effect, because the attributes name the policy"
        : i > 0       ? "no effect, because only the first counts"
                      : "the node counts as one without a policy");
  }
  return out;
}

json attributes_json(const std::vector<TopologyAttribute>& attributes) {
  json out = json::array();
  for (const auto& [name, value] : attributes) out.push_back({{"name", name}, {"value", value}});
  return out;
}

json zone_json(const Zone& zone) {
  json out = {{"name", zone.name}, {"type", zone.type}};
  if (!zone.parent.empty()) out["parent"] = zone.parent;
  for (const ZoneCost& cost : zone.costs) {
    out["costs"].push_back({{"name", cost.zone}, {"value", cost.value}});
  }
  if (!zone.attributes.empty()) out["attributes"] = attributes_json(zone.attributes);
  for (const ZoneResource& resource : zone.resources) {
    out["resources"].push_back({{"name", resource.name},
                                {"capacity", resource.capacity.to_string()},
                                {"allocatable", resource.allocatable.to_string()},
                                {"available", resource.available.to_string()}});
  }
  return out;
}

/// Reads an object at `place`; lists it as unread if that fails.
void read_object(const json& document, const std::string& place, NodeTopologies& out) {
  auto topology = node_topology_from_json(document);
  if (topology) {
    out.nodes.push_back(*std::move(topology));
    return;
  }
  const json* const metadata = document.is_object() ? member(document, "metadata") : nullptr;
  const auto name = text_of(metadata == nullptr ? json::object() : *metadata, "metadata", "name");
  const json* const kind = document.is_object() ? member(document, "kind") : nullptr;
  const bool has_name = kind != nullptr && *kind == kKind && name && is_safe_name(*name);
  out.unread.push_back(
      {has_name ? *name : place, (place.empty() ? "" : place + ": ") + topology.error().message});
}

/// Appends the objects of one document: the document itself, or the items of a list.
Result<void> read_document(const json& document, const std::string& place, NodeTopologies& out) {
  const json* const items = document.is_object() ? member(document, "items") : nullptr;
  if (items == nullptr) {
    read_object(document, place, out);
    return {};
  }
  const json* const kind = member(document, "kind");
  if (kind == nullptr || (*kind != "List" && *kind != "NodeResourceTopologyList")) {
    return fail_field("kind", kind == nullptr ? json() : *kind,
                      "expected 'NodeResourceTopologyList' or 'List'");
  }
  if (!items->is_array()) return fail_field("items", *items, "expected a list");
  for (std::size_t i = 0; i < items->size(); ++i) {
    read_object((*items)[i], fmt::format("{}{}items[{}]", place, place.empty() ? "" : ": ", i),
                out);
  }
  return {};
}

std::string_view cut_line(std::string_view& text) {
  const auto end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// True for several lines if the first one is a complete JSON object; false for a stream of YAML.
bool is_one_per_line(std::string_view text) {
  if (text.find("\n---") != std::string_view::npos) return false;
  std::string_view first;
  while (!text.empty() && is_blank(first)) first = cut_line(text);
  const auto start = first.find_first_not_of(" \t");
  return !is_blank(text) && start != std::string_view::npos && first[start] == '{' &&
         parse_document(first).has_value();
}

Result<NodeTopologies> read_lines(std::string_view text) {
  NodeTopologies out;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = cut_line(text);
    if (is_blank(line)) continue;
    const std::string place = fmt::format("line {}", number);
    const auto document = parse_document(line);
    if (document) {
      PINFOLD_TRY_WRAP(read_document(*document, place, out), place);
    } else {
      out.unread.push_back({place, place + ": " + document.error().message});
    }
  }
  return out;
}

/// Cuts the text up to the next line that begins a document.
std::string_view cut_document(std::string_view& text) {
  const auto end = text.find("\n---");
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

/// Reads a stream with a syntax error: each document alone.
Result<NodeTopologies> read_documents(std::string_view text) {
  NodeTopologies out;
  for (int number = 1; !text.empty();) {
    const auto documents = parse_documents(cut_document(text));
    if (documents && documents->empty()) continue;  // before the first separator
    const std::string place = fmt::format("document {}", number++);
    if (!documents) {
      out.unread.push_back({place, place + ": " + documents.error().message});
      continue;
    }
    for (const json& document : *documents) {
      PINFOLD_TRY_WRAP(read_document(document, place, out), place);
    }
  }
  return out;
}

Result<NodeTopologies> read_stream(std::string_view text) {
  auto parsed = parse_documents(text);
  if (!parsed && text.find("\n---") != std::string_view::npos) {
    return read_documents(text);
  }
  PINFOLD_LET(const auto documents, std::move(parsed));
  NodeTopologies out;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const std::string place = documents.size() == 1 ? "" : fmt::format("document {}", i + 1);
    auto read = read_document(documents[i], place, out);
    if (!read && !place.empty()) return fail(std::move(read).error().wrap(place));
    PINFOLD_TRY(read);
  }
  return out;
}

/// Warns about resources whose available amount exceeds the capacity: schedulers trust it.
void warn_of_excess(const std::vector<Zone>& zones, std::vector<std::string>& warnings) {
  for (const Zone& zone : zones) {
    for (const ZoneResource& one : zone.resources) {
      const Quantity& most = std::min(one.capacity, one.allocatable);
      if (one.available <= most) continue;
      warnings.push_back(fmt::format(
          "zone '{}': available '{}' of '{}': expected at most its capacity and allocatable, '{}'; "
          "it counts as written",
          printable(zone.name), one.available.to_string(), printable(one.name), most.to_string()));
    }
  }
}

}  // namespace

Result<NodeTopology> node_topology_from_json(const json& document) {
  PINFOLD_TRY(check_kind(document));
  NodeTopology topology;
  const json* const metadata = member(document, "metadata");
  PINFOLD_LET(auto name,
              text_of(metadata == nullptr ? json::object() : *metadata, "metadata", "name"));
  if (!is_safe_name(name)) return fail_field("metadata.name", name, "expected a node's name");
  topology.name = std::move(name);
  PINFOLD_LET(topology.attributes,
              read_each<TopologyAttribute>(document, "", "attributes", read_attribute));
  PINFOLD_LET(topology.legacy_policies,
              read_each<std::string>(document, "", "topologyPolicies",
                                     [](const json& item, const std::string& path) {
                                       return scalar_text(path, item);
                                     }));
  topology.warnings = unknown_policies(topology);
  PINFOLD_LET(auto zones, read_each<Zone>(document, "", "zones", read_zone));
  topology.zones = std::move(zones);
  warn_of_excess(topology.zones, topology.warnings);
  if (const std::string* const twin = repeated_name(topology.zones)) {
    return fail_field("zones", *twin, "expected a unique name");
  }
  const auto numa = std::count_if(topology.zones.begin(), topology.zones.end(),
                                  [](const Zone& zone) { return zone.is_numa_node(); });
  if (numa == 0 && !topology.zones.empty()) {
    topology.warnings.push_back(fmt::format("zones: none has the type Node, the first is a '{}'",
                                            printable(topology.zones.front().type)));
  }
  if (numa > NumaMask::kMaxNodes) {
    return fail_field("zones", numa,
                      fmt::format("expected at most {} of type Node", NumaMask::kMaxNodes));
  }
  return topology;
}

Result<NodeTopologies> parse_node_topologies(std::string_view text) {
  PINFOLD_LET(auto read, is_one_per_line(text) ? read_lines(text) : read_stream(text));
  if (read.nodes.empty() && !read.unread.empty()) {
    const auto& [name, why] = read.unread.front();
    return fail(ErrorCode::kInvalidArgument,
                why.starts_with(name) ? why : fmt::format("node '{}': {}", printable(name), why));
  }
  return read;
}

json to_json(const NodeTopology& topology) {
  json out = {{"apiVersion", fmt::format("{}v1alpha2", kGroup)},
              {"kind", kKind},
              {"metadata", {{"name", topology.name}}},
              {"zones", json::array()}};
  if (!topology.attributes.empty()) out["attributes"] = attributes_json(topology.attributes);
  if (!topology.legacy_policies.empty()) out["topologyPolicies"] = topology.legacy_policies;
  for (const Zone& zone : topology.zones) out["zones"].push_back(zone_json(zone));
  return out;
}

}  // namespace pinfold
