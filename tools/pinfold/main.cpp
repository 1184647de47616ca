#include <exception>

#include "command.hpp"

int main(int argc, char** argv) {
  using namespace pinfold::tools;  // NOLINT(google-build-using-namespace): the whole file is one
                                   // use
  CLI::App app;
  int exit_status = kYes;
  add_commands(app, exit_status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kYes : kBadRequest;
  } catch (const std::exception& error) {
    return report({pinfold::ErrorCode::kInternal, 0, error.what()});
  }
  return exit_status;
}
