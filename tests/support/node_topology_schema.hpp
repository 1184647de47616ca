#pragma once

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

/// The published CRD of NodeResourceTopology v1alpha2 (topology.node.k8s.io), as rules: how the API
/// server would validate an object. Fields that are not in the CRD are an error here, because the
/// API server would drop them.
namespace pinfold::test {

inline const nlohmann::json& node_topology_schema() {
  static const nlohmann::json kSchema = nlohmann::json::parse(R"json({
    "type": "object", "required": ["zones"],
    "properties": {
      "apiVersion": {"type": "string"}, "kind": {"type": "string"},
      "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
      "topologyPolicies": {"type": "array", "items": {"type": "string"}},
      "attributes": {"type": "array", "items": {
        "type": "object", "required": ["name", "value"],
        "properties": {"name": {"type": "string"}, "value": {"type": "string"}}}},
      "zones": {"type": "array", "items": {
        "type": "object", "required": ["name", "type"],
        "properties": {
          "name": {"type": "string"}, "type": {"type": "string"}, "parent": {"type": "string"},
          "attributes": {"type": "array", "items": {
            "type": "object", "required": ["name", "value"],
            "properties": {"name": {"type": "string"}, "value": {"type": "string"}}}},
          "costs": {"type": "array", "items": {
            "type": "object", "required": ["name", "value"],
            "properties": {"name": {"type": "string"}, "value": {"type": "integer"}}}},
          "resources": {"type": "array", "items": {
            "type": "object", "required": ["allocatable", "available", "capacity", "name"],
            "properties": {
              "name": {"type": "string"}, "capacity": {"type": "quantity"},
              "allocatable": {"type": "quantity"}, "available": {"type": "quantity"}}}}}}}}})json");
  return kSchema;
}

inline bool has_type(const nlohmann::json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  static const std::regex kQuantity(
      R"(^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+))?$)");
  return value.is_number_integer() ||
         (value.is_string() && std::regex_match(value.get<std::string>(), kQuantity));
}

/// Returns "" for a valid value, otherwise the first error.
inline std::string schema_problem(const nlohmann::json& value, const nlohmann::json& schema,
                                  const std::string& path = "") {
  const std::string type = schema.at("type");
  if (!has_type(value, type)) return path + ": " + value.dump() + ": expected " + type;
  if (type == "array") {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string where = path + "[" + std::to_string(i) + "]";
      auto problem = schema_problem(value[i], schema.at("items"), where);
      if (!problem.empty()) return problem;
    }
  }
  if (type != "object") return "";
  for (const auto& name : schema.value("required", nlohmann::json::array())) {
    if (!value.contains(name)) return path + "." + name.get<std::string>() + ": missing";
  }
  for (const auto& [name, part] : value.items()) {
    const std::string where = path + "." + name;
    if (!schema.at("properties").contains(name)) return where + ": not in the CRD";
    auto problem = schema_problem(part, schema.at("properties").at(name), where);
    if (!problem.empty()) return problem;
  }
  return "";
}

}  // namespace pinfold::test
