#include "pinfold/enforce/process_list.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <iterator>

namespace pinfold::enforce {
namespace {

std::string read_proc(pid_t pid, const char* file) {
  std::ifstream in(fmt::format("/proc/{}/{}", pid, file), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Cuts the next field off, up to `separator`.
std::string_view next(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view field = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return field;
}

template <class Number>
bool read_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::optional<ProcessId> identify(pid_t pid) {
  const std::string text = read_proc(pid, "stat");
  std::string_view rest = text;
  // The second field is a name in parentheses, which may hold anything.
  const std::size_t name_end = rest.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  rest.remove_prefix(name_end + 2);
  if (next(rest, ' ') == "Z") return std::nullopt;  // ended already
  constexpr int kFieldsBetween = 18;                // 4 to 21
  for (int i = 0; i < kFieldsBetween; ++i) next(rest, ' ');
  ProcessId id{pid, 0};
  return read_number(next(rest, ' '), id.start_time) ? std::optional(id) : std::nullopt;
}

std::string cpuset_path(pid_t pid) {
  const std::string text = read_proc(pid, "cgroup");
  std::string_view rest = text;
  std::string unified;
  while (!rest.empty()) {
    std::string_view line = next(rest, '\n');
    next(line, ':');
    const std::string_view controllers = next(line, ':');
    if (controllers.empty()) unified = line;
    std::string_view names = controllers;
    while (!names.empty()) {
      if (next(names, ',') == "cpuset") return std::string(line);
    }
  }
  return unified;
}

bool is_within(std::string_view path, std::string_view group) {
  const std::string inner = fmt::format("/{}/", group);
  return (std::string(path) + "/").find(inner) != std::string::npos;
}

std::string encode_processes(const ProcessList& list) {
  std::string text;
  for (const auto& [group, processes] : list) {
    for (const ProcessId& id : processes) {
      text += fmt::format("{} {} {}\n", id.pid, id.start_time, group);
    }
  }
  return text;
}

ProcessList decode_processes(std::string_view text) {
  ProcessList list;
  while (!text.empty()) {
    std::string_view line = next(text, '\n');
    ProcessId id;
    const bool is_sound = read_number(next(line, ' '), id.pid) && id.pid > 0 &&
                          read_number(next(line, ' '), id.start_time) && !line.empty();
    if (is_sound) list[std::string(line)].insert(id);
  }
  return list;
}

}  // namespace pinfold::enforce
