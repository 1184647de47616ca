#include <utility>

#include "pinfold/fields/json.hpp"

namespace pinfold::fields {
namespace {

using nlohmann::json;

/// Returns the schema of a value or null.
json or_null(json schema) {
  const auto type = schema.find("type");
  if (type != schema.end() && type->is_string() && !schema.contains("enum")) {
    *type = json::array({*type, "null"});
    return schema;
  }
  return {{"anyOf", json::array({std::move(schema), {{"type", "null"}}})}};
}

}  // namespace

json FieldsSchema::schema_of(const std::function<void()>& visit) {
  out_ = json();
  visit();
  return std::exchange(out_, json());
}

json FieldsSchema::defined(const std::string& name, json schema) {
  const auto known = definitions_.find(name);
  if (known == definitions_.end()) {
    definitions_[name] = std::move(schema);
  } else if (*known != schema) {
    (*known)["$comment"] = "two types have this name";
  }
  return {{"$ref", "#/$defs/" + name}};
}

json FieldsSchema::take(std::string_view title) && {
  json schema = std::move(out_);
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = title;
  if (!definitions_.empty()) schema["$defs"] = std::move(definitions_);
  return schema;
}

void FieldsSchema::type(const char* name, const char* doc) {
  OpenType& frame = frames_.back();
  if (!frame.name.empty()) return;
  frame.name = name;
  frame.schema["description"] = doc;
}

void FieldsSchema::text(std::string& /*value*/) { out_ = {{"type", "string"}}; }
void FieldsSchema::flag(bool& /*value*/) { out_ = {{"type", "boolean"}}; }

void FieldsSchema::number(std::uint64_t& /*value*/, std::uint64_t min, std::uint64_t max) {
  out_ = {{"type", "integer"}, {"minimum", min}};
  if (max != std::numeric_limits<std::uint64_t>::max()) out_["maximum"] = max;
}

void FieldsSchema::number(std::int64_t& /*value*/, std::int64_t min, std::int64_t max) {
  out_ = {{"type", "integer"}};
  if (min != std::numeric_limits<std::int64_t>::min()) out_["minimum"] = min;
  if (max != std::numeric_limits<std::int64_t>::max()) out_["maximum"] = max;
}

void FieldsSchema::real(double& /*value*/) { out_ = {{"type", "number"}}; }

void FieldsSchema::cpu_set(CpuSet& /*value*/) {
  out_ = defined("CpuSet", {{"type", "string"},
                            {"pattern", "^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$"},
                            {"description",
                             "CPUs or NUMA nodes as the kernel lists them: \"0-3,8\"; \"\": none, "
                             "or any where the member says so."}});
}

void FieldsSchema::seconds(std::chrono::nanoseconds& /*value*/, std::chrono::nanoseconds max) {
  out_ = {{"type", "number"}, {"minimum", 0}};
  if (max < kMostSeconds) {
    out_["maximum"] = std::chrono::duration_cast<std::chrono::seconds>(max).count();
  }
}

void FieldsSchema::name(std::size_t& /*index*/, std::span<const std::string_view> names) {
  json all = json::array();
  for (const std::string_view name : names) all.push_back(name);
  out_ = {{"type", "string"}, {"enum", std::move(all)}};
}

void FieldsSchema::object(const std::function<void()>& members) {
  frames_.push_back({{{"type", "object"},
                      {"properties", json::object()},
                      {"required", json::array()},
                      {"additionalProperties", false}},
                     ""});
  members();
  OpenType frame = std::move(frames_.back());
  frames_.pop_back();
  out_ =
      frame.name.empty() ? std::move(frame.schema) : defined(frame.name, std::move(frame.schema));
}

void FieldsSchema::list(ListAccess& value) {
  json items = schema_of([&] { value.visit_sample(*this); });
  out_ = {{"type", "array"}, {"items", std::move(items)}};
}

void FieldsSchema::optional(OptionalAccess& value) {
  out_ = or_null(schema_of([&] { value.visit_sample(*this); }));
}

void FieldsSchema::map(MapAccess& value) {
  json values = schema_of([&] { value.visit_sample(*this); });
  out_ = {{"type", "object"}, {"additionalProperties", std::move(values)}};
}

void FieldsSchema::foreign(const ForeignValue& value) {
  out_ = defined(value.type, {{"type", "object"}, {"description", value.doc}});
}

bool FieldsSchema::begin_member(const char* name, Presence presence, const char* doc) {
  members_.push_back({name, presence, doc});
  return true;
}

void FieldsSchema::end_member() {
  const OpenMember member = members_.back();
  members_.pop_back();
  json& schema = frames_.back().schema;
  json& property = schema["properties"][member.name] = std::exchange(out_, json());
  if (*member.doc != '\0') property["description"] = member.doc;
  const bool is_required = member.presence == Presence::kRequired ||
                           member.presence == Presence::kNullable ||
                           member.presence == Presence::kComputed;
  if (is_required) schema["required"].push_back(member.name);
}

void FieldsSchema::choice(ChoiceAccess& value, std::span<const Alternative> names,
                          const char* /*what*/) {
  json one_of = json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    json alternative = schema_of([&] { value.visit_sample(i, *this); });
    alternative["description"] = names[i].doc;
    frames_.back().schema["properties"][names[i].name] = std::move(alternative);
    one_of.push_back({{"required", json::array({names[i].name})}});
  }
  frames_.back().schema["oneOf"] = std::move(one_of);
}

}  // namespace pinfold::fields
