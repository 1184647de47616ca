#include "members.hpp"

#include <fmt/format.h>

#include "pinfold/text/field.hpp"

namespace pinfold::socket {

using nlohmann::json;

Members::Members(const json& value, std::string path) : value_(value), path_(std::move(path)) {
  if (!value.is_object()) {
    error_ = fail_field(path_.empty() ? "message" : path_, value, "expected an object");
  }
}

std::string Members::path(std::string_view key) const { return join(path_, key); }

void Members::fail_at(std::string_view key, const json& value, std::string_view expectation) {
  if (error_) error_ = fail_field(path(key), value, expectation);
}

const json* Members::find(const char* key) {
  read_.insert(key);
  return error_ ? member(value_, key) : nullptr;
}

const json& Members::get(const char* key) {
  static const json kNull;
  if (const json* const found = find(key)) return *found;
  if (error_) {
    error_ = fail(ErrorCode::kInvalidArgument, fmt::format("{}: missing", printable(path(key))));
  }
  return kNull;
}

std::string Members::text(const char* key) {
  const json& value = get(key);
  if (const auto* const text = value.get_ptr<const std::string*>()) return *text;
  fail_at(key, value, "expected a string");
  return "";
}

bool Members::flag(const char* key) {
  const json* const value = find(key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) fail_at(key, *value, "expected true or false");
  return *value == true;
}

std::uint64_t Members::number(const char* key, std::uint64_t max) {
  const json* const value = find(key);
  if (value == nullptr) return 0;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() <= max) {
    return value->get<std::uint64_t>();
  }
  fail_at(key, *value, fmt::format("expected a number from 0 to {}", max));
  return 0;
}

CpuSet Members::cpu_set(const char* key) {
  const std::string value = text(key);
  auto set = CpuSet::parse(value);
  if (set) return *std::move(set);
  fail_at(key, value, "expected a list as \"0-3,8\"");
  return {};
}

const json::array_t& Members::list(const char* key) {
  static const json::array_t kEmpty;
  const json& value = get(key);
  if (const auto* const list = value.get_ptr<const json::array_t*>()) return *list;
  fail_at(key, value, "expected a list");
  return kEmpty;
}

std::vector<std::string> Members::texts(const char* key) {
  std::vector<std::string> texts;
  for (const json& value : list(key)) {
    if (!value.is_string()) {
      fail_at(fmt::format("{}[{}]", key, texts.size()), value, "expected a string");
      return {};
    }
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

Result<void> Members::end() {
  PINFOLD_TRY(error_);
  for (const auto& [key, value] : value_.items()) {
    if (!read_.contains(key)) return fail_field(path(key), value, "expected no such member");
  }
  return {};
}

}  // namespace pinfold::socket
