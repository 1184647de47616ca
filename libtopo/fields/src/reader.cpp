#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "pinfold/fields/json.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::fields {
namespace {

using nlohmann::json;

/// Returns "'none', 'lost' or 'rejected'".
std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += fmt::format("'{}'", names[i]);
  }
  return text;
}

}  // namespace

bool FieldsReader::OpenObject::has_read(std::string_view name) const {
  return std::find(read.begin(), read.end(), name) != read.end();
}

void FieldsReader::fail_here(std::string_view expectation) {
  if (error_) error_ = fail_field(place(), *at_, expectation);
}

void FieldsReader::refuse(const char* name, const std::string& expectation) {
  if (!error_) return;
  error_ = fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: {}", printable(join(path_, name)), expectation));
}

void FieldsReader::enter(std::string_view name, const json& value) {
  above_.push_back({at_, path_.size()});
  path_ = join(path_, name);
  at_ = &value;
}

void FieldsReader::enter(std::size_t index, const json& value) {
  above_.push_back({at_, path_.size()});
  path_ += fmt::format("[{}]", index);
  at_ = &value;
}

void FieldsReader::leave() {
  at_ = above_.back().at;
  path_.resize(above_.back().path_size);
  above_.pop_back();
}

void FieldsReader::text(std::string& value) {
  if (const auto* const text = at_->get_ptr<const std::string*>()) {
    value = *text;
  } else {
    fail_here("expected a string");
  }
}

void FieldsReader::flag(bool& value) {
  if (at_->is_boolean()) {
    value = at_->get<bool>();
  } else {
    fail_here("expected true or false");
  }
}

void FieldsReader::number(std::uint64_t& value, std::uint64_t min, std::uint64_t max) {
  // A document that was built in memory can have a signed number.
  const bool is_whole =
      at_->is_number_unsigned() || (at_->is_number_integer() && at_->get<std::int64_t>() >= 0);
  const std::uint64_t number = is_whole ? at_->get<std::uint64_t>() : 0;
  if (is_whole && min <= number && number <= max) {
    value = number;
  } else {
    fail_here(fmt::format("expected a whole number from {} to {}", min, max));
  }
}

void FieldsReader::number(std::int64_t& value, std::int64_t min, std::int64_t max) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool is_whole = at_->is_number_integer() &&
                        (!at_->is_number_unsigned() || at_->get<std::uint64_t>() <= kMost);
  const std::int64_t number = is_whole ? at_->get<std::int64_t>() : 0;
  if (is_whole && min <= number && number <= max) {
    value = number;
  } else {
    fail_here(fmt::format("expected a whole number from {} to {}", min, max));
  }
}

void FieldsReader::real(double& value) {
  if (at_->is_number()) {
    value = at_->get<double>();
  } else {
    fail_here("expected a number");
  }
}

void FieldsReader::cpu_set(CpuSet& value) {
  if (!at_->is_string()) return fail_here("expected a string");
  auto set = CpuSet::parse(at_->get_ref<const std::string&>());
  if (set) {
    value = *std::move(set);
  } else {
    fail_here("expected a list as \"0-3,8\"");
  }
}

void FieldsReader::seconds(std::chrono::nanoseconds& value, std::chrono::nanoseconds max) {
  const double most = std::chrono::duration<double>(max).count();
  const double seconds = at_->is_number() ? at_->get<double>() : -1;
  if (!(seconds >= 0 && seconds <= most)) {
    return fail_here(fmt::format("expected a number of seconds from 0 to {:.0f}", most));
  }
  constexpr double kNanoseconds = 1e9;
  value = std::chrono::nanoseconds(std::llround(seconds * kNanoseconds));
}

void FieldsReader::name(std::size_t& index, std::span<const std::string_view> names) {
  const auto* const text = at_->get_ptr<const std::string*>();
  const auto found = text == nullptr ? names.end() : std::find(names.begin(), names.end(), *text);
  if (found == names.end()) return fail_here("expected " + listed(names));
  index = static_cast<std::size_t>(found - names.begin());
}

void FieldsReader::object(const std::function<void()>& members) {
  if (!error_) return;
  if (!at_->is_object()) return fail_here("expected an object");
  frames_.push_back({at_, {}});
  members();
  const OpenObject frame = std::move(frames_.back());
  frames_.pop_back();
  if (!error_ || unknown_ == UnknownMembers::kIgnore) return;
  for (const auto& [key, value] : frame.object->items()) {
    if (frame.has_read(key)) continue;
    error_ = fail_field(join(path_, key), value, "expected no such member");
    return;
  }
}

void FieldsReader::list(ListAccess& value) {
  if (!at_->is_array()) return fail_here("expected a list");
  value.clear();
  const json& list = *at_;
  for (std::size_t i = 0; i < list.size() && error_; ++i) {
    value.append();
    enter(i, list[i]);
    value.visit(i, *this);
    leave();
  }
}

void FieldsReader::optional(OptionalAccess& value) {
  if (at_->is_null()) return value.reset();
  value.emplace();
  value.visit(*this);
}

void FieldsReader::map(MapAccess& value) {
  if (!at_->is_object()) return fail_here("expected an object");
  value.clear();
  const json& map = *at_;
  for (const auto& [key, one] : map.items()) {
    if (!error_) return;
    enter(key, one);
    value.visit(key, *this);
    leave();
  }
}

void FieldsReader::foreign(const ForeignValue& value) {
  if (!error_) return;
  if (auto read = value.read(*at_); !read) error_ = fail(std::move(read).error().wrap(place()));
}

bool FieldsReader::begin_member(const char* name, Presence presence, const char* /*doc*/) {
  if (!error_) return false;
  OpenObject& frame = frames_.back();
  frame.read.emplace_back(name);
  const json* const found = pinfold::member(*frame.object, name);
  if (found == nullptr) {
    if (presence == Presence::kRequired) {
      error_ = fail(ErrorCode::kInvalidArgument,
                    fmt::format("{}: missing", printable(join(path_, name))));
    }
    return false;
  }
  enter(name, *found);
  return true;
}

void FieldsReader::end_member() { leave(); }

void FieldsReader::choice(ChoiceAccess& value, std::span<const Alternative> names,
                          const char* what) {
  if (!error_) return;
  OpenObject& frame = frames_.back();
  const json* chosen = nullptr;
  std::string_view name;
  std::size_t count = 0;
  for (const auto& [key, one] : frame.object->items()) {
    if (frame.has_read(key)) continue;
    name = key;
    chosen = &one;
    ++count;
  }
  if (count != 1) return fail_here("expected an object with one member");
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const Alternative& one) { return name == one.name; });
  if (found == names.end()) {
    error_ = fail_field(place(), json(name), fmt::format("expected the name of {}", what));
    return;
  }
  frame.read.emplace_back(found->name);
  value.emplace(static_cast<std::size_t>(found - names.begin()));
  enter(name, *chosen);
  value.visit(*this);
  leave();
}

}  // namespace pinfold::fields
