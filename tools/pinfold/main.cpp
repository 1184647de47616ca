#include <cstdio>
#include <exception>

#include "command.hpp"

namespace pinfold::tools {
namespace {

int run(int argc, char** argv) {
  CLI::App app;
  int exit_status = kYes;
  add_commands(app, exit_status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kYes : kBadRequest;
  }
  return exit_status;
}

}  // namespace
}  // namespace pinfold::tools

int main(int argc, char** argv) {
  try {
    return pinfold::tools::run(argc, argv);
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "pinfold: %s\n", error.what());
    return pinfold::tools::kBadRequest;
  }
}
