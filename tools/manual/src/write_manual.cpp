#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "pinfold/cli/run.hpp"
#include "pinfold/manual/manual.hpp"

namespace pinfold::manual {

int write_manual(const cli::Command& program, const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> files = {
      {program.name + ".1", man_page(program)},
      {program.name + ".bash", bash_completion(program)},
      {"_" + program.name, zsh_completion(program)},
      {program.name + ".fish", fish_completion(program)}};
  for (const auto& [name, text] : markdown_pages(program)) {
    files.emplace_back("commands/" + name, text);
  }
  for (const auto& [name, text] : files) {
    const std::string path = fmt::format("{}/{}", folder, name);
    std::ofstream out(path, std::ios::binary);
    out << text;
    if (out.close(); !out) {
      fmt::print(stderr, "manual of {}: cannot write '{}'\n", program.name, path);
      return cli::kUsageError;
    }
  }
  return 0;
}

}  // namespace pinfold::manual
