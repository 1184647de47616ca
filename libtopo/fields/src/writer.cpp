#include "pinfold/fields/json.hpp"

namespace pinfold::fields {

using nlohmann::json;

void FieldsWriter::text(std::string& value) { *at_ = value; }
void FieldsWriter::flag(bool& value) { *at_ = value; }
void FieldsWriter::number(std::uint64_t& value, std::uint64_t /*min*/, std::uint64_t /*max*/) {
  *at_ = value;
}
void FieldsWriter::number(std::int64_t& value, std::int64_t /*min*/, std::int64_t /*max*/) {
  *at_ = value;
}
void FieldsWriter::real(double& value) { *at_ = value; }
void FieldsWriter::cpu_set(CpuSet& value) { *at_ = value.to_string(); }

void FieldsWriter::seconds(std::chrono::nanoseconds& value, std::chrono::nanoseconds /*max*/) {
  *at_ = std::chrono::duration<double>(value).count();
}

void FieldsWriter::name(std::size_t& index, std::span<const std::string_view> names) {
  *at_ = names[index];
}

void FieldsWriter::object(const std::function<void()>& members) {
  *at_ = json::object();
  members();
}

void FieldsWriter::list(ListAccess& value) {
  json* const list = at_;
  *list = json::array();
  for (std::size_t i = 0; i < value.size(); ++i) {
    json item;
    at_ = &item;
    value.visit(i, *this);
    list->push_back(std::move(item));
  }
  at_ = list;
}

void FieldsWriter::optional(OptionalAccess& value) {
  if (value.has_value()) {
    value.visit(*this);
  } else {
    *at_ = nullptr;
  }
}

void FieldsWriter::map(MapAccess& value) {
  json* const map = at_;
  *map = json::object();
  for (const std::string& key : value.keys()) {
    at_ = &(*map)[key];
    value.visit(key, *this);
  }
  at_ = map;
}

void FieldsWriter::foreign(const ForeignValue& value) { *at_ = value.write(); }

bool FieldsWriter::begin_member(const char* name, Presence /*presence*/, const char* /*doc*/) {
  above_.push_back(at_);
  at_ = &(*at_)[name];
  return true;
}

void FieldsWriter::end_member() {
  at_ = above_.back();
  above_.pop_back();
}

void FieldsWriter::choice(ChoiceAccess& value, std::span<const Alternative> names,
                          const char* /*what*/) {
  (void)begin_member(names[value.index()].name, Presence::kRequired, "");
  value.visit(*this);
  end_member();
}

}  // namespace pinfold::fields
