#include <fmt/format.h>

#include <memory>

#include "command.hpp"
#include "kernels.hpp"

namespace pinfold::harness {
namespace {

constexpr const char* kScenarioSuffix = ".yaml";

cli::Option images_option(std::string& script) {
  return {"--images", &script, "The script that downloads kernels: vm-images/build", "FILE"};
}

std::vector<cli::Option> common_options(CommonOptions& options) {
  return {{"--accel", cli::one_of(options.accelerator, {"auto", "kvm", "tcg", "tcg-multi"}),
           "Accelerator; auto tests how fast KVM is, tcg-multi runs the guest's CPUs at once"},
          {"--agent", &options.agent, "The guest agent's program", "FILE"},
          {"--pinfold", &options.product, "The pinfold command for the guest", "FILE"},
          images_option(options.image_script),
          {"--qemu", &options.qemu,
           "QEMU's program [the host's, or a newer one where it is needed]", "FILE"},
          {"--time-scale", cli::Real{&options.time_scale, 0.1, 100}, "Multiplies every time limit"},
          {"--no-snapshots", &options.no_snapshots, "Boot every machine from scratch"}};
}

/// Returns the words that `--on` accepts.
std::vector<std::string> platform_words() {
  std::vector<std::string> words = {"v1", "v2", "hybrid"};
  words.insert(words.end(), {"amd64", "arm64"});
  for (const char* kernel : kKernels)
    words.insert(words.end(), {kernel, fmt::format("{}/v2", kernel)});
  return words;
}

/// Returns the names of kernels, after `first`.
std::vector<std::string> kernel_words(std::vector<std::string> first) {
  first.insert(first.end(), std::begin(kKernels), std::end(kKernels));
  return first;
}

cli::Option platform_option(Selection& selection) {
  return {
      .name = "--on",
      .target = &selection.platforms,
      .help =
          "Only on this kernel, cgroup version, architecture or a combination: debian-6.12, v1, "
          "v2/arm64",
      .value = "PLATFORM",
      .one_at_a_time = true,
      .suggestions = platform_words()};
}

cli::Option arch_option(Selection& selection) {
  using Choice = std::pair<std::string, std::optional<Arch>>;
  return {"--arch",
          cli::one_of(selection.arch, std::vector<Choice>{{"named", std::nullopt},
                                                          {"amd64", Arch::kAmd64},
                                                          {"arm64", Arch::kArm64}}),
          "Architecture of all scenarios, or 'named': the one that each scenario names"};
}

cli::Option kernel_option(Selection& selection) {
  return {"--kernel", &selection.kernel,
          "Kernel to use instead of the scenarios' own: a bzImage, a build tree, or a Debian "
          "package",
          "PATH"};
}

cli::Option files_argument(Selection& selection) {
  return {.name = "scenario",
          .target = &selection.files,
          .help = "Scenario files or folders [all that come with Pinfold]",
          .suffix = kScenarioSuffix};
}

cli::Option file_argument(std::string& file) {
  return {.name = "scenario",
          .target = &file,
          .help = "A scenario file; uses its first scenario",
          .required = true,
          .suffix = kScenarioSuffix};
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
  cli::Command command{"run", "Run scenario files, or all files in a folder"};
  command.add(common_options(arguments->common));
  command.add({files_argument(arguments->selection), platform_option(arguments->selection),
               arch_option(arguments->selection), kernel_option(arguments->selection),
               json_option(*arguments)});
  command.add(view_options(arguments->views));
  command.add(
      {{"--coverage", &arguments->coverage, "Collect gcov data from guests into this directory",
        "DIR"},
       {"--keep", &arguments->keep, "Keep the guest of a failed step for `attach`"},
       {"--tables", &arguments->tables, "Print the table of every verify step"},
       {"-j,--jobs", cli::Integer{&arguments->jobs, 1, 64}, "Run N scenarios in parallel, 1 to 64"},
       {"-q,--quiet", &arguments->quiet, "Print one line for each scenario"}});
  command.sections = {{"Examples",
                       {{"pinfold-harness run scenario.yaml --html report.html",
                         "run a scenario and write a report"},
                        {"pinfold-harness run scenarios/ --on v1 --jobs 2 --junit results.xml",
                         "run a folder on cgroup v1, two scenarios at a time"},
                        {"pinfold-harness run scenario.yaml --kernel ~/linux",
                         "run it on a kernel that you have built"}}}};
  command.run = [=] { return run_scenarios(*arguments, interrupt_fd); };
  return command;
}

cli::Command gauntlet_command(int interrupt_fd) {
  auto arguments = std::make_shared<GauntletArguments>();
  auto file = std::make_shared<std::string>();
  cli::Command command{"gauntlet",
                       "Run a scenario on many machines, kernels, cgroup versions and container "
                       "runtimes, so that every two of them meet, and reduce what fails"};
  command.add({file_argument(*file),
               {"--machines", &arguments->machines,
                "Machines: all (about 100), small (those with up to 8 CPUs and 4 NUMA nodes), or "
                "a file like machines.yaml [all]",
                "SET"},
               {.name = "--kernels",
                .target = &arguments->kernels,
                .help = "A kernel, or all; may be repeated [those of the scenario]",
                .value = "KERNEL",
                .one_at_a_time = true,
                .suggestions = kernel_words({"all"})},
               {.name = "--bisect",
                .target = &arguments->bisect,
                .help = "A kernel, or the file of one, in order of age; may be repeated: finds "
                        "the first of them on which a failure appears. Or REPOSITORY:GOOD..BAD, a "
                        "range of commits of Linux: builds them and finds the first",
                .value = "KERNEL",
                .one_at_a_time = true,
                .suggestions = kernel_words({})},
               {"--build", &arguments->build,
                "The shell command that builds a commit's kernel [make olddefconfig bzImage, with "
                "the repository's .config]",
                "COMMAND"},
               {"--results", &arguments->results,
                "The file of results; what has one in it is not run again "
                "[SCENARIO.gauntlet.json]",
                "FILE"},
               {"-j,--jobs", cli::Integer{&arguments->jobs, 1, 64},
                "Run N scenarios in parallel, 1 to 64"}});
  command.add(view_options(arguments->views));
  command.add(common_options(arguments->common));
  command.sections = {
      {"Examples",
       {{"pinfold-harness gauntlet scenario.yaml --machines small --jobs 4",
         "run a scenario on small machines of all kinds"},
        {"pinfold-harness gauntlet scenario.yaml --kernels all --html gauntlet.html",
         "run it on all machines and kernels, and write a report"},
        {"pinfold-harness gauntlet scenario.yaml --bisect debian-6.1 --bisect debian-6.12 "
         "--bisect debian-sid",
         "find the first kernel on which a failure appears"},
        {"pinfold-harness gauntlet scenario.yaml --bisect ~/linux:v7.2..v7.3",
         "find the first commit of Linux with which it appears"}}}};
  command.run = [=] {
    arguments->selection.files = {*file};
    return run_gauntlet(*arguments, interrupt_fd);
  };
  return command;
}

cli::Command demo_command(int interrupt_fd) {
  auto arguments = std::make_shared<RunArguments>();
  cli::Command command{"demo", "Pods on two NUMA nodes: desired and observed cpusets"};
  command.add({json_option(*arguments)});
  command.add(view_options(arguments->views));
  command.add(common_options(arguments->common));
  command.sections = {{"Examples", {{"pinfold-harness demo", "run the demo"}}}};
  command.run = [=] { return run_demo(*arguments, interrupt_fd); };
  return command;
}

cli::Command list_command() {
  auto selection = std::make_shared<Selection>();
  cli::Command command{
      "list", "Check scenario files and list each scenario with its kernels and cgroup versions"};
  command.add({files_argument(*selection), platform_option(*selection), arch_option(*selection)});
  command.sections = {{"Examples",
                       {{"pinfold-harness list scenario.yaml",
                         "print each error with its line, its field and what was expected"}}}};
  command.run = [=] { return list_scenarios(*selection); };
  return command;
}

cli::Command new_command() {
  auto file = std::make_shared<std::string>();
  return {.name = "new",
          .help = "Write a commented example scenario that can be run as is",
          .options = {{"file", file.get(), "Output file [standard output]"}},
          .run = [=] { return write_new_scenario(*file); },
          .sections = {{"Examples",
                        {{"pinfold-harness new my.yaml && pinfold-harness run my.yaml",
                          "write a first scenario and run it"}}}}};
}

cli::Command shell_command(int interrupt_fd) {
  auto arguments = std::make_shared<ShellArguments>();
  auto file = std::make_shared<std::string>();
  cli::Command command{
      "shell",
      "Start the machine of a scenario and open a shell in it, or run a script from standard "
      "input"};
  command.add(common_options(arguments->common));
  command.add({file_argument(*file),
               platform_option(arguments->selection),
               arch_option(arguments->selection),
               kernel_option(arguments->selection),
               {"--at", &arguments->at,
                "Run the steps before this one first, given by number or title; their state is "
                "saved for the next time",
                "STEP"}});
  command.sections = {
      {"Examples",
       {{"pinfold-harness shell scenario.yaml", "open a shell in the scenario's machine"},
        {"pinfold-harness shell scenario.yaml --at 7", "the same before its seventh step"}}}};
  command.run = [=] {
    arguments->selection.files = {*file};
    return run_shell(*arguments, interrupt_fd);
  };
  return command;
}

cli::Command attach_command(int interrupt_fd) {
  auto arguments = std::make_shared<AttachArguments>();
  return {.name = "attach",
          .help =
              "Open a shell in the guest that `run --keep` kept after a failed step, or run a "
              "script from standard input",
          .options = {{.name = "guest",
                       .target = &arguments->guest,
                       .help = "The scenario, or the scenario and its platform [the only guest "
                               "kept]",
                       .value = "NAME"},
                      {"--list", &arguments->list, "List the kept guests"}},
          .run = [=] { return attach(*arguments, interrupt_fd); },
          .sections = {{"Examples",
                        {{"pinfold-harness run --keep scenario.yaml; pinfold-harness attach",
                          "look around where a step has failed"},
                         {"pinfold-harness attach 'drift on debian-6.1/v2'",
                          "choose one of several guests"}}}}};
}

cli::Command machine_command(int interrupt_fd) {
  auto arguments = std::make_shared<MachineArguments>();
  auto file = std::make_shared<std::string>();
  cli::Command command{
      "machine",
      "Show the machine of a scenario, as described and as the guest's kernel reports it; or copy "
      "a machine: print a `machine` for scenarios that resembles it, and the differences"};
  cli::Option scenario = file_argument(*file);
  scenario.required = false;
  scenario.excludes = {"--from"};
  command.add(
      {std::move(scenario),
       platform_option(arguments->selection),
       arch_option(arguments->selection),
       kernel_option(arguments->selection),
       {"--boot", &arguments->boot, "Start the machine and show what its kernel reports"},
       {.name = "--from",
        .target = &arguments->from,
        .help = "Machine to copy: a folder with a captured /sys (hwloc-gather-topology), an hwloc "
                "XML file (lstopo machine.xml), or `this` machine",
        .value = "DIR|XML|this",
        .excludes = {"--boot", "--on", "--kernel"},
        .suggestions = {"this"}},
       {.name = "--memory",
        .target = &arguments->memory,
        .help =
            "Memory limit of a copy; the NUMA nodes are scaled down to it (default: 4Gi, or the "
            "least that they need)",
        .value = "QUANTITY"},
       {"-o,--output", cli::one_of(arguments->output, {"text", "yaml", "json"}),
        "Output format: text for people (a copy: YAML), json for programs"}});
  command.add(common_options(arguments->common));
  command.sections = {{"Examples",
                       {{"pinfold-harness machine --from this > machine.yaml",
                         "describe this machine for a scenario"},
                        {"pinfold-harness machine --from captured/ --memory 8Gi -o json",
                         "describe a captured /sys as JSON"},
                        {"pinfold-harness machine --boot scenario.yaml",
                         "show what the guest's kernel reports of a scenario's machine"}}}};
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
                .help = "The files that `run --json` wrote; --html and --junit take one",
                .required = true}});
  command.add(view_options(arguments->views));
  command.add({{"--table", &arguments->table,
                "Print a row for each scenario and a column for each file, with the verdicts"}});
  command.sections = {{"Examples",
                       {{"pinfold-harness report results.json --html report.html",
                         "write a page from the results of `run --json results.json`"},
                        {"pinfold-harness report 1.36.json 1.37.json --table",
                         "compare the runs with two kubelets"}}}};
  command.run = [=] { return make_reports(*arguments); };
  return command;
}

cli::Command fetch_command() {
  auto arguments = std::make_shared<FetchArguments>();
  cli::Command command{
      "fetch",
      "Download kernels and programs into the cache once; afterwards runs need no network"};
  command.add({{.name = "scenario",
                .target = &arguments->selection.files,
                .help = "Fetch what these scenario files or folders need [what every scenario "
                        "without a container runtime needs]",
                .suffix = kScenarioSuffix},
               platform_option(arguments->selection),
               arch_option(arguments->selection),
               images_option(arguments->image_script)});
  command.sections = {
      {"Examples",
       {{"pinfold-harness fetch", "fetch every amd64 kernel"},
        {"pinfold-harness fetch --on debian-6.12", "fetch what scenarios on one kernel need"},
        {"pinfold-harness fetch scenarios/ && PINFOLD_OFFLINE=1 pinfold-harness run scenarios/",
         "fetch what a folder needs, container runtimes too, then run without downloads"}}}};
  command.run = [=] { return fetch_downloads(*arguments); };
  return command;
}

cli::Command clean_command() {
  auto all = std::make_shared<bool>(false);
  return {.name = "clean",
          .help = "Remove snapshots, initramfs files and leftovers of killed runs",
          .options = {{"--all", all.get(), "Also remove kernels and downloaded packages"}},
          .run = [=] { return clean_cache(*all); },
          .sections = {{"Examples", {{"pinfold-harness clean", "keep what was downloaded"}}}}};
}

std::vector<cli::Section> sections() {
  return {{"Exit status",
           {{"0", "Every scenario ended as expected; done"},
            {"1",
             "A scenario did not; with machine --boot: the guest's machine differs from the "
             "description"},
            {"2", "A usage or input error, or interrupted"}}},
          {"Examples",
           {{"pinfold-harness new first.yaml && pinfold-harness run first.yaml",
             "A first scenario, on four NUMA nodes"},
            {"pinfold-harness run first.yaml --html report.html", "The same with a report"},
            {"pinfold-harness shell first.yaml", "A shell in its machine"}}},
          {"Environment",
           {{"PINFOLD_CACHE",
             "Cache directory; its contents can be recreated: kernels, snapshots "
             "[$XDG_CACHE_HOME/pinfold, else ~/.cache/pinfold]"},
            {"PINFOLD_DEBIAN_MIRROR", "Where kernels come from [http://deb.debian.org]"},
            {"PINFOLD_DEBIAN_KEYRING", "The keys of a mirror that is not signed by Debian"},
            {"PINFOLD_OFFLINE",
             "If set: download nothing; a run that needs a missing file says what to fetch"}}},
          {"See also",
           {{"qemu-system-x86_64(1), cgroups(7), cpuset(7), numa(7)",
             "The format of scenarios is docs/scenario-format.md"}}}};
}

}  // namespace

cli::Command harness_command(int interrupt_fd) {
  return {.name = "pinfold-harness",
          .help = "Runs scenarios on virtual machines with any number of sockets and NUMA nodes.",
          .commands = {run_command(interrupt_fd), gauntlet_command(interrupt_fd),
                       demo_command(interrupt_fd), list_command(), new_command(),
                       shell_command(interrupt_fd), attach_command(interrupt_fd),
                       machine_command(interrupt_fd), report_command(), fetch_command(),
                       clean_command(), cli::help_command("pinfold-harness help run")},
          .version = PINFOLD_VERSION,
          .summary = "run scenarios on virtual machines with any number of sockets and NUMA nodes",
          .sections = sections()};
}

}  // namespace pinfold::harness
