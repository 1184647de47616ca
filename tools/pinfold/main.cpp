#include <cstdio>
#include <exception>

#include "commands.hpp"
#include "output.hpp"

int main(int argc, char** argv) {
  try {
    return pinfold::cli::run(pinfold::tools::pinfold_command(), argc, argv);
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "pinfold: %s\n", error.what());
    return pinfold::tools::kBadRequest;
  }
}
