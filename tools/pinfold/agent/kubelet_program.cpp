#include "agent/kubelet_program.hpp"

#include <fmt/format.h>

#include "pinfold/audit/systemd_unit.hpp"
#include "pinfold/text/field.hpp"
#include "program_output.hpp"

namespace pinfold::tools {
namespace {

constexpr const char* kUnit = "kubelet.service";

}  // namespace

Result<std::string> program_of_kubelet_unit(const std::string& root) {
  PINFOLD_LET(const auto tree, audit::Tree::open(root));
  const auto unit = audit::read_unit(tree, kUnit);
  if (!unit) {
    return fail(ErrorCode::kNotFound, fmt::format("unit '{}' not found", kUnit));
  }
  PINFOLD_TRY_WRAP(check_unit(*unit), fmt::format("unit '{}'", kUnit));
  std::string program = unit->command.empty() ? "" : unit->command.front();
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
