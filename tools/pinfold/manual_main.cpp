#include <cstdio>
#include <fstream>

#include "command.hpp"
#include "manual.hpp"

/// pinfold-manual VERSION FOLDER: writes the man page and the completions. Part of the build only.
int main(int argc, char** argv) {
  using namespace pinfold::tools;  // NOLINT(google-build-using-namespace): the whole file is one
                                   // use
  if (argc != 3) {
    std::fputs("usage: pinfold-manual VERSION FOLDER\n", stderr);
    return kBadRequest;
  }
  CLI::App app;
  int unused = kYes;
  add_commands(app, unused);
  const std::string folder = argv[2];
  const std::pair<const char*, std::string> files[] = {{"pinfold.1", man_page(app, argv[1])},
                                                       {"pinfold.bash", bash_completion(app)},
                                                       {"_pinfold", zsh_completion(app)},
                                                       {"pinfold.fish", fish_completion(app)}};
  for (const auto& [name, text] : files) {
    const std::string path = folder + "/" + name;
    std::ofstream out(path, std::ios::binary);
    out << text;
    if (out.close(); !out) {
      std::fprintf(stderr, "pinfold-manual: cannot write '%s'\n", path.c_str());
      return kBadRequest;
    }
  }
  return kYes;
}
