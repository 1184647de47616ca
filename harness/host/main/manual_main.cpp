#include <cstdio>
#include <exception>

#include "command.hpp"
#include "pinfold/manual/manual.hpp"

/// pinfold-harness-manual FOLDER: writes the man page, the completions and, into FOLDER/commands,
/// the pages of the documentation; used by the build only.
int main(int argc, char** argv) {
  try {
    return pinfold::manual::write_manual(pinfold::harness::harness_command(-1),
                                         argc == 2 ? argv[1] : "FOLDER");
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "pinfold-harness-manual: %s\n", error.what());
    return 2;
  }
}
