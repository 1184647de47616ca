#include "scenario/field_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "pinfold/harness/json.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/types/quantity.hpp"

namespace pinfold::harness {
bool is_index(const std::string& key) {
  return !key.empty() && key.size() < 9 && key.find_first_not_of("0123456789") == std::string::npos;
}

std::string to_string(const FieldPath& path) {
  std::string text;
  for (const std::string& key : path) {
    if (is_index(key)) {
      text += fmt::format("[{}]", key);
    } else {
      text += (text.empty() ? "" : ".") + key;
    }
  }
  return text;
}

std::optional<std::string> scalar_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  return std::nullopt;
}

std::string expected_one_of(const std::vector<std::string_view>& words, std::string_view given) {
  const std::string_view similar = nearest(given, words);
  return fmt::format("expected one of: {}{}", fmt::join(words, ", "),
                     similar.empty() ? "" : fmt::format("; did you mean '{}'?", similar));
}

std::string show_value(const Json& value) {
  std::string text = value.is_string() ? "'" + value.get<std::string>() + "'"
                                       : value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  }
  return text;
}

FieldReader::FieldReader(const Json& object, FieldPath path, std::optional<Complaint>& complaint)
    : object_(object), path_(std::move(path)), complaint_(complaint) {
  if (!object_.is_object() && !complaint_) {
    complaint_ = Complaint{path_, show_value(object_) + ": expected fields with values"};
  }
}

FieldPath FieldReader::path_of(const char* key) const {
  FieldPath path = path_;
  path.emplace_back(key);
  return path;
}

void FieldReader::complain(const char* key, std::string text) {
  if (!complaint_) complaint_ = Complaint{path_of(key), std::move(text)};
}

const Json* FieldReader::find(const char* key) {
  asked_.insert(key);
  if (complaint_) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::string FieldReader::text(const char* key, std::string fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (auto text = scalar_text(*value)) return *text;
  complain(key, show_value(*value) + ": expected a string");
  return fallback;
}

std::string FieldReader::required_text(const char* key) {
  if (!failed() && find(key) == nullptr) complain(key, "missing");
  return text(key, "");
}

int FieldReader::integer(const char* key, int fallback, int least, int most) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  const bool number = value->is_number_integer();
  const auto n = number ? value->get<std::int64_t>() : 0;
  if (number && n >= least && n <= most) return static_cast<int>(n);
  complain(key,
           fmt::format("{}: expected a number from {} to {}", show_value(*value), least, most));
  return fallback;
}

std::optional<double> FieldReader::number(const char* key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  complain(key, show_value(*value) + ": expected a number");
  return std::nullopt;
}

bool FieldReader::boolean(const char* key, bool fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  complain(key, show_value(*value) + ": expected true or false");
  return fallback;
}

CpuSet FieldReader::cpus(const char* key) {
  const std::string list = text(key, "");
  auto set = CpuSet::parse(list);
  if (set) return std::move(*set);
  complain(key, fmt::format("'{}': expected a list such as 0-3,8", list.substr(0, 60)));
  return {};
}

std::size_t FieldReader::chosen(const char* key, const std::vector<std::string_view>& words) {
  const std::string word = text(key, std::string(words.front()));
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  complain(key, fmt::format("'{}': {}", word.substr(0, 60), expected_one_of(words, word)));
  return 0;
}

std::uint64_t FieldReader::bytes(const char* key, std::uint64_t fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  const auto text = scalar_text(*value);
  const auto quantity = text ? Quantity::parse(*text) : fail(ErrorCode::kInvalidArgument, "");
  if (quantity && quantity->sign() >= 0 && quantity->is_whole()) {
    return static_cast<std::uint64_t>(quantity->value());
  }
  complain(key, show_value(*value) + ": expected an amount such as 512Mi");
  return fallback;
}

std::vector<std::string> FieldReader::texts(const char* key) {
  const Json* value = find(key);
  if (value == nullptr) return {};
  std::vector<std::string> list;
  const bool array = value->is_array();
  for (std::size_t i = 0; array && i < value->size(); ++i) {
    if (auto text = scalar_text((*value)[i])) list.push_back(*text);
  }
  if (!array || list.size() != value->size()) {
    complain(key, show_value(*value) + ": expected a list of strings");
  }
  return list;
}

void FieldReader::finish() {
  if (complaint_) return;
  for (const auto& [key, value] : object_.items()) {
    if (!asked_.contains(key)) {
      const std::vector<std::string_view> known(asked_.begin(), asked_.end());
      complain(key.c_str(), "unknown field, " + expected_one_of(known, key));
    }
  }
}

namespace {

struct DeleteParser {
  void operator()(yaml_parser_t* parser) const { yaml_parser_delete(parser); }
};
struct DeleteDocument {
  void operator()(yaml_document_t* document) const { yaml_document_delete(document); }
};

/// Returns the nodes of a member's name and value; for an element of a list, the element twice.
/// Null pointers if the node has no such member.
std::pair<const yaml_node_t*, const yaml_node_t*> member(yaml_document_t& document,
                                                         const yaml_node_t& node,
                                                         const std::string& key) {
  if (node.type == YAML_SEQUENCE_NODE && is_index(key)) {
    const auto& items = node.data.sequence.items;
    const auto index = std::stol(key);
    if (index >= items.top - items.start) return {};
    const yaml_node_t* const item = yaml_document_get_node(&document, items.start[index]);
    return {item, item};
  }
  if (node.type != YAML_MAPPING_NODE) return {};
  const auto& pairs = node.data.mapping.pairs;
  for (const yaml_node_pair_t* pair = pairs.start; pair < pairs.top; ++pair) {
    const yaml_node_t* const name = yaml_document_get_node(&document, pair->key);
    const bool is_key = name->type == YAML_SCALAR_NODE &&
                        key == reinterpret_cast<const char*>(name->data.scalar.value);
    if (is_key) return {name, yaml_document_get_node(&document, pair->value)};
  }
  return {};
}

}  // namespace

int line_of(std::string_view text, const FieldPath& path) {
  yaml_parser_t parser_memory;
  if (text.empty() || yaml_parser_initialize(&parser_memory) == 0) return 0;
  const std::unique_ptr<yaml_parser_t, DeleteParser> parser(&parser_memory);
  yaml_parser_set_input_string(parser.get(), reinterpret_cast<const unsigned char*>(text.data()),
                               text.size());
  yaml_document_t document_memory;
  if (yaml_parser_load(parser.get(), &document_memory) == 0) return 0;
  const std::unique_ptr<yaml_document_t, DeleteDocument> document(&document_memory);
  const yaml_node_t* node = yaml_document_get_root_node(document.get());
  if (node == nullptr) return 0;
  std::size_t line = node->start_mark.line;
  for (const std::string& key : path) {
    const auto [name, value] = member(*document, *node, key);
    if (value == nullptr) break;  // missing: use the parent's line
    line = name->start_mark.line;
    node = value;
  }
  return static_cast<int>(line) + 1;
}

Error error_of(std::string_view text, const Complaint& complaint) {
  const std::string path = to_string(complaint.path);
  return {ErrorCode::kInvalidArgument, 0,
          fmt::format("line {}: {}{}{}", line_of(text, complaint.path), path,
                      path.empty() ? "" : ": ", complaint.text)};
}

}  // namespace pinfold::harness
