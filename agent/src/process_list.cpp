#include "pinfold/agent/process_list.hpp"

#include <fmt/format.h>

#include <charconv>

namespace pinfold::agent {
namespace {

/// Consumes a number and the space after it.
template <class Number>
bool take_number(std::string_view& line, Number& out) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), out);
  if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
  return true;
}

}  // namespace

std::string encode_processes(const ProcessList& list) {
  std::string text;
  for (const auto& [group, processes] : list) {
    for (const enforce::ProcessId& id : processes) {
      text += fmt::format("{} {} {}\n", id.pid, id.start_time, group);
    }
  }
  return text;
}

ProcessList decode_processes(std::string_view text) {
  ProcessList list;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    enforce::ProcessId id;
    const bool is_sound = take_number(line, id.pid) && id.pid > 0 &&
                          take_number(line, id.start_time) && !line.empty();
    if (is_sound) list[std::string(line)].insert(id);
  }
  return list;
}

}  // namespace pinfold::agent
