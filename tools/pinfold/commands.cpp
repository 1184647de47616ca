#include "command.hpp"

namespace pinfold::tools {

void add_commands(CLI::App& app, int& exit_status) {
  app.name("pinfold");
  app.description(
      "Pinfold decides which CPUs and memory nodes a container gets, as the kubelet does.");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the help of every command");
  add_checkpoint(app, exit_status);
  add_admit(app, exit_status);
  add_start(app, exit_status);
  add_remove(app, exit_status);
  add_status(app, exit_status);
  add_reconcile(app, exit_status);
  add_metrics(app, exit_status);
  add_simulate(app, exit_status);
  add_hook(app, exit_status);
  add_oci_resources(app, exit_status);
  add_topology(app, exit_status);
  add_predict(app, exit_status);
}

}  // namespace pinfold::tools
