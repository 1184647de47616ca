#include <cstdio>
#include <exception>

#include "extender_command.hpp"
#include "pinfold/manual/manual.hpp"

/// pinfold-extender-manual FOLDER: writes the man page, the completions and, into FOLDER/commands,
/// the pages of the documentation. Only the build uses it.
int main(int argc, char** argv) {
  try {
    return pinfold::manual::write_manual(pinfold::tools::extender_command(),
                                         argc == 2 ? argv[1] : "FOLDER");
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "pinfold-extender-manual: %s\n", error.what());
    return 2;
  }
}
