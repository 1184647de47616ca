#include "scenario/scenario_fields.hpp"

#include "pinfold/harness/json.hpp"

namespace pinfold::harness {

std::vector<std::string> read_command(FieldReader& fields) {
  std::vector<std::string> command = fields.texts("command");
  if (command.empty()) fields.complain("command", "expected a program and its arguments");
  return command;
}

std::optional<int> read_status(FieldReader& fields) {
  if (fields.text("status", "0") == "any") return std::nullopt;
  return fields.integer("status", 0, 0, 255);
}

KubeletSource read_kubelet(FieldReader& fields, const char* key) {
  KubeletSource source;
  const Json* value = fields.find(key);
  if (value != nullptr && value->is_object()) {
    source.config = *value;
  } else {
    source.file = fields.text(key, "");
  }
  return source;
}

}  // namespace pinfold::harness
