#include <CLI/CLI.hpp>
#include <memory>

#include "command.hpp"

namespace pinfold::harness {
namespace {

/// What all commands share: where they belong, and what they answer with.
struct Program {
  CLI::App& app;
  int interrupt_fd;
  int exit_status = kOk;

  /// Adds a command that calls `run` with arguments that its options fill in.
  template <class Arguments, class Run>
  std::pair<CLI::App&, Arguments&> add(const char* name, const char* help, Run run) {
    CLI::App* command = app.add_subcommand(name, help);
    auto arguments = std::make_shared<Arguments>();
    command->callback([this, arguments, run] { exit_status = run(*arguments); });
    return {*command, *arguments};
  }
};

void add_common(CLI::App& command, CommonOptions& options) {
  command
      .add_option("--accel", options.accelerator, "auto, kvm or tcg; auto tries how fast KVM is")
      ->check(CLI::IsMember({"auto", "kvm", "tcg"}));
  command.add_option("--agent", options.agent, "The guest agent's program");
  command.add_option("--pinfold", options.product, "The pinfold command for the guest");
  command.add_option("--images", options.image_script, "The script vm-images/build");
  command.add_option("--qemu", options.qemu,
                     "QEMU's program [the host's, or a newer one where it is needed]");
  command.add_option("--time-scale", options.time_scale, "Multiplies every time limit")
      ->check(CLI::Range(0.1, 100.0));
  command.add_flag("--no-snapshots", options.no_snapshots, "Boot every machine anew");
}

void add_platforms(CLI::App& command, Selection& selection) {
  command
      .add_option("--on", selection.platforms,
                  "Only on this kernel, cgroup version or both: debian-6.12, v1, debian-6.1/v2")
      ->type_name("PLATFORM")
      ->allow_extra_args(false);
}

void add_selection(CLI::App& command, Selection& selection) {
  command.add_option("scenario", selection.files,
                     "Scenario files or folders [all that come with Pinfold]");
  add_platforms(command, selection);
}

/// One file; of its scenarios the first one is taken.
void add_scenario(CLI::App& command, Selection& selection) {
  command.add_option("scenario", selection.files, "A scenario file")->required()->expected(1);
  add_platforms(command, selection);
}

void add_views(CLI::App& command, ReportViews& views) {
  command.add_option("--html", views.html_file, "Write one HTML page with pictures to this file");
  command.add_option("--junit", views.junit_file, "Write JUnit XML to this file");
}

void add_run(Program& program) {
  auto [command, arguments] = program.add<RunArguments>(
      "run", "Run scenario files, or all in a folder",
      [fd = program.interrupt_fd](auto& given) { return run_scenarios(given, fd); });
  add_common(command, arguments.common);
  add_selection(command, arguments.selection);
  command.add_option("--json", arguments.json_file, "Write the results to this file");
  add_views(command, arguments.views);
  command.add_option("--coverage", arguments.coverage,
                     "Collect gcov data from guests into this folder");
  command.add_flag("--tables", arguments.tables, "Print the table of every verify step");
  command.add_option("-j,--jobs", arguments.jobs, "Run this many scenarios in parallel")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command.add_flag("-q,--quiet", arguments.quiet, "One line for each scenario");
}

void add_demo(Program& program) {
  auto [command, arguments] = program.add<RunArguments>(
      "demo", "Pods on two NUMA nodes: desired and observed cpusets",
      [fd = program.interrupt_fd](auto& given) { return run_scenarios(given, fd); });
  arguments.selection = {{demo_scenario()}, {to_string(Platform{})}};
  arguments.tables = true;
  command.add_option("--json", arguments.json_file, "Write the results to this file");
  add_common(command, arguments.common);
}

void add_list(Program& program) {
  auto [command, selection] = program.add<Selection>(
      "list", "Check scenario files and list each scenario with its kernels and cgroup versions",
      list_scenarios);
  add_selection(command, selection);
}

void add_shell(Program& program) {
  auto [command, arguments] = program.add<ShellArguments>(
      "shell",
      "Start the machine of a scenario with a shell in it, or with a script from standard input",
      [fd = program.interrupt_fd](auto& given) { return run_shell(given, fd); });
  add_common(command, arguments.common);
  add_scenario(command, arguments.selection);
}

void add_machine(Program& program) {
  auto [command, arguments] = program.add<MachineArguments>(
      "machine", "Show the machine of a scenario, as described and as a guest's kernel reports it",
      [fd = program.interrupt_fd](auto& given) { return show_machine(given, fd); });
  add_scenario(command, arguments.selection);
  command.add_flag("--boot", arguments.boot, "Start it, and show what its kernel reports");
  command.add_option("-o,--output", arguments.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  add_common(command, arguments.common);
}

void add_report(Program& program) {
  auto [command, arguments] =
      program.add<ReportArguments>("report", "Write reports from saved results", make_reports);
  command.add_option("results", arguments.results, "The file that `run --json` wrote")->required();
  add_views(command, arguments.views);
}

void add_clean(Program& program) {
  auto [command, all] = program.add<bool>(
      "clean", "Remove snapshots, initramfs files and leftovers of killed runs", clean_cache);
  command.add_flag("--all", all, "Kernels and downloaded packages as well");
}

}  // namespace

int run_command_line(int argc, char** argv, int interrupt_fd) {
  CLI::App app{"Runs scenarios on virtual machines with any number of sockets and NUMA nodes."};
  app.require_subcommand(1);
  Program program{app, interrupt_fd};
  for (const auto add :
       {add_run, add_demo, add_list, add_shell, add_machine, add_report, add_clean}) {
    add(program);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsageError;
  }
  return program.exit_status;
}

}  // namespace pinfold::harness
