#include <exception>

#include "command.hpp"

int main(int argc, char** argv) {
  using namespace pinfold::tools;  // NOLINT(google-build-using-namespace): the whole file is one
                                   // use
  CLI::App app{
      "Pinfold decides which CPUs and memory nodes a container gets, as the kubelet does."};
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the help of every command");
  int exit_status = kYes;
  add_checkpoint(app, exit_status);
  add_admit(app, exit_status);
  add_start(app, exit_status);
  add_remove(app, exit_status);
  add_status(app, exit_status);
  add_reconcile(app, exit_status);
  add_metrics(app, exit_status);
  add_simulate(app, exit_status);
  add_topology(app, exit_status);
  add_predict(app, exit_status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kYes : kBadRequest;
  } catch (const std::exception& error) {
    return report({pinfold::ErrorCode::kInternal, 0, error.what()});
  }
  return exit_status;
}
