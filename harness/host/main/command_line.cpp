#include <memory>

#include "command.hpp"
#include "pinfold/cli/run.hpp"

namespace pinfold::harness {
namespace {

std::vector<cli::Option> common_options(CommonOptions& options) {
  return {{"--accel", cli::one_of(options.accelerator, {"auto", "kvm", "tcg"}),
           "Accelerator; auto tests how fast KVM is"},
          {"--agent", &options.agent, "The guest agent's program", "FILE"},
          {"--pinfold", &options.product, "The pinfold command for the guest", "FILE"},
          {"--images", &options.image_script, "The script vm-images/build", "FILE"},
          {"--qemu", &options.qemu,
           "QEMU's program [the host's, or a newer one where it is needed]", "FILE"},
          {"--time-scale", cli::Real{&options.time_scale, 0.1, 100}, "Multiplies every time limit"},
          {"--no-snapshots", &options.no_snapshots, "Boot every machine from scratch"}};
}

cli::Option platform_option(Selection& selection) {
  return {.name = "--on",
          .target = &selection.platforms,
          .help = "Only on this kernel, cgroup version or both: debian-6.12, v1, debian-6.1/v2",
          .value = "PLATFORM",
          .one_at_a_time = true};
}

cli::Option kernel_option(Selection& selection) {
  return {"--kernel", &selection.kernel,
          "Instead of the scenarios' kernels: a bzImage, a build tree, or a Debian package",
          "PATH"};
}

cli::Option files_argument(Selection& selection) {
  return {"scenario", &selection.files, "Scenario files or folders [all that come with Pinfold]"};
}

cli::Option file_argument(std::string& file) {
  return {.name = "scenario",
          .target = &file,
          .help = "A scenario file; takes its first scenario",
          .required = true};
}

cli::Option json_option(RunArguments& arguments) {
  return {"--json", &arguments.json_file, "Write the results to this file", "FILE"};
}

std::vector<cli::Option> view_options(ReportViews& views) {
  return {{"--html", &views.html_file, "Write one HTML page with pictures to this file", "FILE"},
          {"--junit", &views.junit_file, "Write JUnit XML to this file", "FILE"}};
}

cli::Command run_command(int interrupt_fd) {
  auto arguments = std::make_shared<RunArguments>();
  cli::Command command{"run", "Run scenario files, or all in a folder"};
  command.add(common_options(arguments->common));
  command.add({files_argument(arguments->selection), platform_option(arguments->selection),
               kernel_option(arguments->selection), json_option(*arguments)});
  command.add(view_options(arguments->views));
  command.add(
      {{"--coverage", &arguments->coverage, "Collect gcov data from guests into this folder",
        "DIR"},
       {"--tables", &arguments->tables, "Print the table of every verify step"},
       {"-j,--jobs", cli::Integer{&arguments->jobs, 1, 64}, "Run N scenarios in parallel, 1 to 64"},
       {"-q,--quiet", &arguments->quiet, "Print one line for each scenario"}});
  command.sections = {
      {"Examples",
       {{"pinfold-harness run scenario.yaml --html report.html", "one scenario, with a report"},
        {"pinfold-harness run scenarios/ --on v1 --jobs 2 --junit results.xml",
         "a folder on version 1 of control groups, two at a time"},
        {"pinfold-harness run scenario.yaml --kernel ~/linux",
         "on a kernel that you have built"}}}};
  command.run = [=] { return run_scenarios(*arguments, interrupt_fd); };
  return command;
}

cli::Command demo_command(int interrupt_fd) {
  auto arguments = std::make_shared<RunArguments>();
  arguments->selection = {{demo_scenario()}, {to_string(Platform{})}, ""};
  arguments->tables = true;
  cli::Command command{"demo", "Pods on two NUMA nodes: desired and observed cpusets"};
  command.add({json_option(*arguments)});
  command.add(common_options(arguments->common));
  command.run = [=] { return run_scenarios(*arguments, interrupt_fd); };
  return command;
}

cli::Command list_command() {
  auto selection = std::make_shared<Selection>();
  cli::Command command{
      "list", "Check scenario files and list each scenario with its kernels and cgroup versions"};
  command.add({files_argument(*selection), platform_option(*selection)});
  command.sections = {{"Examples",
                       {{"pinfold-harness list scenario.yaml",
                         "each error with its line, field and what was expected"}}}};
  command.run = [=] { return list_scenarios(*selection); };
  return command;
}

cli::Command new_command() {
  auto file = std::make_shared<std::string>();
  return {.name = "new",
          .help = "Write a commented scenario that runs, to begin with",
          .options = {{"file", file.get(), "The file to make [standard output]"}},
          .run = [=] { return write_new_scenario(*file); },
          .sections = {{"Examples",
                        {{"pinfold-harness new my.yaml && pinfold-harness run my.yaml",
                          "a first scenario, and how it ends"}}}}};
}

cli::Command shell_command(int interrupt_fd) {
  auto arguments = std::make_shared<ShellArguments>();
  auto file = std::make_shared<std::string>();
  cli::Command command{
      "shell",
      "Start the machine of a scenario with a shell in it, or with a script from standard input"};
  command.add(common_options(arguments->common));
  command.add({file_argument(*file), platform_option(arguments->selection),
               kernel_option(arguments->selection)});
  command.run = [=] {
    arguments->selection.files = {*file};
    return run_shell(*arguments, interrupt_fd);
  };
  return command;
}

cli::Command machine_command(int interrupt_fd) {
  auto arguments = std::make_shared<MachineArguments>();
  auto file = std::make_shared<std::string>();
  cli::Command command{
      "machine",
      "Show the machine of a scenario, as described and as a guest's kernel reports it; or copy a "
      "machine: print the `machine` of a scenario that is like it, and what differs"};
  cli::Option scenario = file_argument(*file);
  scenario.required = false;
  scenario.excludes = {"--from"};
  command.add({std::move(scenario),
               platform_option(arguments->selection),
               kernel_option(arguments->selection),
               {"--boot", &arguments->boot, "Start it, and show what its kernel reports"},
               {.name = "--from",
                .target = &arguments->from,
                .help = "Copy this machine: a folder with a captured /sys (hwloc-gather-topology), "
                        "an XML file of hwloc (lstopo machine.xml), or `this` machine",
                .value = "DIR|XML|this",
                .excludes = {"--boot", "--on", "--kernel"},
                .suggestions = {"this"}},
               {.name = "--memory",
                .target = &arguments->memory,
                .help = "Most memory of a copy; that of the NUMA nodes is scaled down to it",
                .value = "QUANTITY"},
               {"-o,--output", cli::one_of(arguments->output, {"text", "yaml", "json"}),
                "Output format: text for people, json for programs; a copy is in YAML else"}});
  command.add(common_options(arguments->common));
  command.sections = {
      {"Examples",
       {{"pinfold-harness machine --from this > machine.yaml", "this machine for a scenario"},
        {"pinfold-harness machine --from captured/ --memory 8Gi -o json",
         "a captured /sys for a program"},
        {"pinfold-harness machine --boot scenario.yaml",
         "what a guest's kernel makes of a scenario's machine"}}}};
  command.run = [=] {
    if (!arguments->from.empty()) return copy_machine_of(*arguments);
    if (file->empty()) {
      return report({ErrorCode::kInvalidArgument, 0, "machine: expected a scenario, or --from"});
    }
    arguments->selection.files = {*file};
    return show_machine(*arguments, interrupt_fd);
  };
  return command;
}

cli::Command report_command() {
  auto arguments = std::make_shared<ReportArguments>();
  cli::Command command{"report", "Write reports from saved results"};
  command.add({{.name = "results",
                .target = &arguments->results,
                .help = "The file that `run --json` wrote",
                .required = true}});
  command.add(view_options(arguments->views));
  command.run = [=] { return make_reports(*arguments); };
  return command;
}

cli::Command clean_command() {
  auto all = std::make_shared<bool>(false);
  return {.name = "clean",
          .help = "Remove snapshots, initramfs files and leftovers of killed runs",
          .options = {{"--all", all.get(), "Also remove kernels and downloaded packages"}},
          .run = [=] { return clean_cache(*all); }};
}

}  // namespace

int run_command_line(int argc, char** argv, int interrupt_fd) {
  const cli::Command program = {
      .name = "pinfold-harness",
      .help = "Runs scenarios on virtual machines with any number of sockets and NUMA nodes.",
      .commands = {run_command(interrupt_fd), demo_command(interrupt_fd), list_command(),
                   new_command(), shell_command(interrupt_fd), machine_command(interrupt_fd),
                   report_command(), clean_command(), cli::help_command()}};
  const auto print = [](const std::string& message, bool /*is_usage*/) {
    (void)report({ErrorCode::kInvalidArgument, 0, message});
  };
  return cli::run(program, argc, argv, print);
}

}  // namespace pinfold::harness
