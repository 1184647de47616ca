#include "agent/kubelet_program.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "pinfold/base/read_file.hpp"
#include "pinfold/text/field.hpp"
#include "program_output.hpp"

namespace pinfold::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnit = "kubelet.service";
/// Where systemd looks for units, in order of precedence.
constexpr std::array kUnitDirectories = {"etc/systemd/system", "run/systemd/system",
                                         "usr/local/lib/systemd/system", "usr/lib/systemd/system",
                                         "lib/systemd/system"};

/// Returns the unit, followed by its drop-ins sorted by name; of several with the same name, only
/// that of the first directory.
std::vector<fs::path> files_of_unit(const fs::path& root) {
  std::vector<fs::path> files;
  std::map<std::string, fs::path> drop_ins;
  for (const char* const directory : kUnitDirectories) {
    std::error_code ignored;
    const fs::path unit = root / directory / kUnit;
    if (files.empty() && fs::is_regular_file(unit, ignored)) files.push_back(unit);
    const fs::path below = root / directory / (std::string(kUnit) + ".d");
    for (const auto& entry : fs::directory_iterator(below, ignored)) {
      if (entry.path().extension() == ".conf") drop_ins.try_emplace(entry.path().filename(), entry);
    }
  }
  if (files.empty()) return files;
  for (const auto& [name, path] : drop_ins) files.push_back(path);
  return files;
}

/// Returns the program of the last ExecStart= in a file; "" if that is empty, nullopt if missing.
std::optional<std::string> program_of(const std::string& text) {
  std::optional<std::string> program;
  std::istringstream lines(text);
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kKey = "ExecStart=";
    if (line.starts_with('[')) section = line;
    if (section != "[Service]" || !line.starts_with(kKey)) continue;
    // Skip the prefixes that may precede the program: see systemd.service(5).
    const std::size_t start = line.find_first_not_of("@-:+!| \t", kKey.size());
    program = start == std::string::npos
                  ? ""
                  : line.substr(start, line.find_first_of(" \t\\", start) - start);
  }
  return program;
}

}  // namespace

Result<std::string> program_of_kubelet_unit(const std::string& root) {
  const auto files = files_of_unit(root);
  if (files.empty()) {
    return fail(ErrorCode::kNotFound, fmt::format("there is no unit {} on this machine", kUnit));
  }
  std::string program;
  for (const fs::path& file : files) {
    PINFOLD_LET(const auto text, read_file(file));
    if (auto found = program_of(text)) program = *std::move(found);
  }
  if (program.starts_with('/')) return program;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("unit '{}': ExecStart: '{}': expected the path of a program",
                          files.front().string(), printable(program)));
}

Result<std::string> kubelet_version(const std::string& program) {
  constexpr std::size_t kMostBytes = 256;
  PINFOLD_LET(auto text, program_output(program, {"--version"}, kMostBytes));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace pinfold::tools
