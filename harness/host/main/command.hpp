#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/cli/command.hpp"
#include "pinfold/harness/guest_session.hpp"
#include "pinfold/harness/run.hpp"

namespace pinfold::harness {

enum HarnessStatus : int {
  kOk = 0,
  kFailed = 1,      ///< an unexpected verdict, a wrong machine, or a failed script
  kUsageError = 2,  ///< usage or input error, or interrupted
};

/// Prints "pinfold-harness: message" to standard error; returns kUsageError.
int report(const Error& error);

/// Returns the whole program. `interrupt_fd`: readable when the user interrupts; -1: never.
[[nodiscard]] cli::Command harness_command(int interrupt_fd);

/// Options shared by the commands that start machines.
struct CommonOptions {
  std::string accelerator = "auto";
  std::string agent;
  std::string product;
  std::string image_script;
  std::string qemu;
  double time_scale = 1;
  bool no_snapshots = false;
};
/// Converts the options. Errors: a required file does not exist.
[[nodiscard]] Result<RunOptions> make_run_options(const CommonOptions& options, int interrupt_fd);

/// Returns the download script. `named`: the value of --images; "": not given.
/// Errors: it does not exist.
[[nodiscard]] Result<std::filesystem::path> find_image_script(const std::string& named);

/// Additional report formats. Empty: not requested.
struct ReportViews {
  std::string html_file;
  std::string junit_file;
};
/// Checks that the reports can be written. Errors: those of write_file.
[[nodiscard]] Result<void> check_views(const ReportViews& views);
/// Writes the reports. Returns the exit status.
int write_views(const nlohmann::json& report_json, const ReportViews& views);

/// Scenarios by file and platform.
struct Selection {
  std::vector<std::string> files;      ///< files and directories; empty: all that ship with Pinfold
  std::vector<std::string> platforms;  ///< selectors; empty: all platforms
  std::optional<Arch> arch;            ///< instead of the scenarios' architectures
  std::string kernel;                  ///< instead of the scenarios' kernels; "": none
};

struct RunArguments {
  CommonOptions common;
  Selection selection;
  std::string json_file;
  ReportViews views;
  std::string coverage;
  bool keep = false;
  bool tables = false;
  bool quiet = false;
  int jobs = 1;
};
struct GauntletArguments {
  CommonOptions common;
  Selection selection;               ///< one file
  std::string machines = "all";      ///< "all", "small", or a file like machines.yaml
  std::vector<std::string> kernels;  ///< names, or "all"; empty: those of the scenario
  std::vector<std::string> bisect;   ///< names or files, the oldest first, or one range of commits
  std::string build;                 ///< builds a commit's kernel; "": make
  std::string results;               ///< a file; "": named after the scenario
  ReportViews views;
  int jobs = 1;
};
struct ShellArguments {
  CommonOptions common;
  Selection selection;
  std::string at;  ///< stop before this step: its number from 1, or its title; "": before all
};
struct AttachArguments {
  std::string guest;  ///< "": the only one
  bool list = false;
};
struct MachineArguments {
  CommonOptions common;
  Selection selection;
  std::string output = "text";
  bool boot = false;
  std::string from;    ///< "this", a directory, an XML file; "": show a scenario's machine
  std::string memory;  ///< of a copy; "": the default
};
struct FetchArguments {
  std::string image_script;
  Selection selection;  ///< without files: any scenario without a container runtime
};
struct ReportArguments {
  std::vector<std::string> results;  ///< files
  ReportViews views;                 ///< of one file
  bool table = false;                ///< print the verdicts of all files
};

/// The commands. Each returns the exit status.
int run_scenarios(const RunArguments& arguments, int interrupt_fd);
/// Runs a scenario on many machines, kernels and container runtimes, and reduces failures.
int run_gauntlet(const GauntletArguments& arguments, int interrupt_fd);
int list_scenarios(const Selection& selection);
int run_shell(const ShellArguments& arguments, int interrupt_fd);
int attach(const AttachArguments& arguments, int interrupt_fd);
/// Runs a shell in the guest, or a script from standard input.
int talk_to_guest(GuestSession& session);
int show_machine(const MachineArguments& arguments, int interrupt_fd);
/// Prints the machine section of a scenario that copies another machine.
int copy_machine_of(const MachineArguments& arguments);
int make_reports(const ReportArguments& arguments);
/// Prints a template for a scenario, or writes it to a new file.
int write_new_scenario(const std::string& file);
/// Downloads everything that scenarios need, so that they run without a network afterwards.
int fetch_downloads(const FetchArguments& arguments);
int clean_cache(bool all);

int run_demo(RunArguments arguments, int interrupt_fd);

/// Returns the files of a selection, and all *.yaml files except machines.yaml below its
/// directories, in order.
[[nodiscard]] Result<std::vector<std::filesystem::path>> find_files(const Selection& selection);
/// Returns true if the selection includes the platform.
[[nodiscard]] bool is_selected(const Platform& platform, const Selection& selection);

/// Checks the words of --on. Errors: kInvalidArgument.
[[nodiscard]] Result<void> check_platforms(const Selection& selection);

/// A scenario on one platform, with its file.
struct FoundScenario {
  std::filesystem::path file;
  Scenario scenario;
  std::string problem = {};  ///< why this host cannot start it; "": it can
};
/// Returns the selected scenarios. Errors: those of the first invalid file; kNotFound if no
/// scenario is selected.
[[nodiscard]] Result<std::vector<FoundScenario>> find_scenarios(const Selection& selection);
/// Returns the first selected scenario.
[[nodiscard]] Result<Scenario> find_scenario(const Selection& selection);

}  // namespace pinfold::harness
