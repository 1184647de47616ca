#include "agent/kubelet_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "pinfold/audit/systemd_unit.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/words.hpp"
#include "program_output.hpp"

namespace pinfold::tools {
namespace {

constexpr const char* kUnit = "kubelet.service";

/// Returns the program of the last ExecStart= of a unit, or "".
std::string program_of(const std::string& text) {
  std::string command;
  for (const auto& [key, value] : parse_unit_file(text)) {
    if (key == "ExecStart") command = value;
  }
  // Skip the prefixes that may precede the program: see systemd.service(5).
  const std::size_t start = std::min(command.find_first_not_of("@-:+!| \t"), command.size());
  const auto words = split_words(command.substr(start));
  return words.empty() ? "" : words.front();
}

}  // namespace

Result<std::string> program_of_kubelet_unit(const std::string& root) {
  PINFOLD_LET(const auto tree, audit::Tree::open(root));
  const auto text = audit::unit_text(tree, kUnit);
  if (!text) {
    return fail(ErrorCode::kNotFound, fmt::format("there is no unit {} on this machine", kUnit));
  }
  std::string program = program_of(*text);
  if (program.starts_with('/')) return program;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("unit '{}': ExecStart: '{}': expected the path of a program", kUnit,
                          printable(program)));
}

Result<std::string> kubelet_version(const std::string& program) {
  constexpr std::size_t kMostBytes = 256;
  PINFOLD_LET(auto text, program_output(program, {"--version"}, kMostBytes));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace pinfold::tools
