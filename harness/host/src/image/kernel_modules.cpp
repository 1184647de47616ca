#include "pinfold/harness/kernel_modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "pinfold/harness/process.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxList = std::size_t{16} << 20U;
constexpr std::size_t kMaxModule = std::size_t{256} << 20U;
constexpr Milliseconds kModuleLimit{60000};

/// Returns "nbd" for "kernel/drivers/block/nbd.ko.xz". To the kernel '-' and '_' are the same.
std::string module_name(const fs::path& file) {
  std::string name = file.filename().string();
  name.resize(std::min(name.find(".ko"), name.size()));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Returns the line of modules.dep about a module: its file, a colon, and the files it needs, the
/// last of which must be loaded first. "" if there is none.
std::string line_about(const std::string& list, const std::string& name) {
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    if (module_name(line.substr(0, line.find(':'))) == name) return line;
  }
  return "";
}

bool is_built_in(const fs::path& folder, const std::string& name) {
  const auto list = read_file(folder / "modules.builtin", kMaxList);
  return list && !line_about(*list, name).empty();
}

Result<std::string> read_module(const fs::path& file) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 3> kCompressed = {
      {{".xz", "xz"}, {".zst", "zstd"}, {".gz", "gzip"}}};
  const std::string extension = file.extension().string();
  const auto packed = std::find_if(kCompressed.begin(), kCompressed.end(),
                                   [&](const auto& one) { return one.first == extension; });
  if (packed == kCompressed.end()) return read_file(file, kMaxModule);
  PINFOLD_LET(auto unpacked, run_program({packed->second, "-dcq", file.string()}, kModuleLimit));
  if (unpacked.exit_status == 0) return std::move(unpacked.output);
  return fail(ErrorCode::kIo,
              fmt::format("module '{}': {} ended with status {}: {}", file.string(), packed->second,
                          unpacked.exit_status, unpacked.output.substr(0, 200)));
}

}  // namespace

Result<std::vector<fs::path>> module_files(const fs::path& folder, const std::string& name) {
  std::error_code failed;
  if (!fs::exists(folder / "modules.dep", failed)) {
    return fail(ErrorCode::kNotFound,
                fmt::format("module '{}': the kernel was given as a bare image, expected its build "
                            "tree or its package",
                            name));
  }
  PINFOLD_LET(const auto list, read_file(folder / "modules.dep", kMaxList));
  const std::string wanted = module_name(name);
  std::string line = line_about(list, wanted);
  std::vector<fs::path> files;
  if (line.empty() && !is_built_in(folder, wanted)) {
    return fail(ErrorCode::kNotFound,
                fmt::format("module '{}': expected one of the kernel's modules", name));
  }
  std::replace(line.begin(), line.end(), ':', ' ');
  std::istringstream words(line);
  for (std::string file; words >> file;) files.push_back(folder / file);
  std::reverse(files.begin(), files.end());
  return files;
}

Result<std::vector<CpioEntry>> module_entries(const fs::path& folder, const std::string& name) {
  PINFOLD_LET(const auto files, module_files(folder, name));
  std::vector<CpioEntry> entries;
  for (const fs::path& file : files) {
    PINFOLD_LET(auto bytes, read_module(file));
    // Numbered in load order, because the agent sorts them.
    const std::string path =
        fmt::format("lib/modules/{}/{:02}-{}.ko", name, entries.size(), module_name(file));
    entries.push_back(CpioEntry::file(path, std::move(bytes), false));
  }
  return entries;
}

}  // namespace pinfold::harness
