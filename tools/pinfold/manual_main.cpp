#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "manual.hpp"
#include "output.hpp"

namespace pinfold::tools {
namespace {

int write_manual(const char* version, const std::string& folder) {
  const cli::Command program = pinfold_command();
  std::vector<std::pair<std::string, std::string>> files = {
      {"pinfold.1", man_page(program, version)},
      {"pinfold.bash", bash_completion(program)},
      {"_pinfold", zsh_completion(program)},
      {"pinfold.fish", fish_completion(program)}};
  for (const auto& [name, text] : markdown_pages(program))
    files.emplace_back("commands/" + name, text);
  for (const auto& [name, text] : files) {
    const std::string path = fmt::format("{}/{}", folder, name);
    std::ofstream out(path, std::ios::binary);
    out << text;
    if (out.close(); !out) {
      fmt::print(stderr, "pinfold-manual: cannot write '{}'\n", path);
      return kBadRequest;
    }
  }
  return kYes;
}

}  // namespace
}  // namespace pinfold::tools

/// pinfold-manual VERSION FOLDER: writes the man page, the completions and, into FOLDER/commands,
/// the pages of the documentation; used by the build only.
int main(int argc, char** argv) {
  if (argc != 3) {
    (void)std::fputs("usage: pinfold-manual VERSION FOLDER\n", stderr);
    return pinfold::tools::kBadRequest;
  }
  try {
    return pinfold::tools::write_manual(argv[1], argv[2]);
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "pinfold-manual: %s\n", error.what());
    return pinfold::tools::kBadRequest;
  }
}
