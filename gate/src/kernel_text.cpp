#include "pinfold/gate/kernel_text.hpp"

#include <charconv>
#include <cstdint>

#include "pinfold/gate/json.hpp"

namespace pinfold::gate {
namespace {

/// Removes the text up to `end`, and `end` itself; everything if `end` is missing.
std::string_view take_before(std::string_view& text, char end) {
  const std::size_t found = text.find(end);
  const std::string_view head = text.substr(0, found);
  text.remove_prefix(found == text.npos ? text.size() : found + 1);
  return head;
}

bool lists(std::string_view controllers, std::string_view name) {
  while (!controllers.empty()) {
    if (take_before(controllers, ',') == name) return true;
  }
  return false;
}

bool is_usable(const GroupPath& group) {
  return group.path.starts_with('/') && group.path.find("/..") == group.path.npos;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<ProcessGroups> parse_process_groups(std::string_view text) {
  ProcessGroups groups;
  while (!text.empty()) {
    std::string_view path = take_before(text, '\n');
    const std::string_view hierarchy = take_before(path, ':');
    const std::string_view controllers = take_before(path, ':');
    for (const auto& [name, group] :
         {std::pair("cpuset", &groups.cpuset), std::pair("cpu", &groups.cpu)}) {
      if (lists(controllers, name)) *group = {path, true};
      if (hierarchy == "0" && !group->is_v1) *group = {path, false};
    }
  }
  const bool is_complete = is_usable(groups.cpuset) && is_usable(groups.cpu);
  return is_complete ? std::optional(groups) : std::nullopt;
}

bool is_guaranteed(std::string_view path) {
  const auto has = [&](std::string_view word) { return path.find(word) != path.npos; };
  return has("kubepods") && !has("burstable") && !has("besteffort");
}

bool is_whole_cpus(std::string_view quota, std::string_view period) {
  const auto microseconds = number_of(quota);
  const auto unit = number_of(period);
  return microseconds && unit && *unit > 0 && *microseconds > 0 && *microseconds % *unit == 0;
}

TwoWords split_words(std::string_view line) {
  const std::string_view first = take_before(line, ' ');
  return {first, line};
}

bool is_error_answer(std::string_view line) {
  JsonCursor json(line);
  json.enter();
  if (json.next().value_or("error") == "error") return true;
  json.enter();
  while (const auto key = json.next()) {
    if (*key != "notEnforced") {
      json.skip();
      continue;
    }
    json.enter();  // null: the kernel has the change
    return !json.failed();
  }
  return false;
}

}  // namespace pinfold::gate
