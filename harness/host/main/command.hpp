#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "pinfold/harness/run.hpp"

namespace pinfold::harness {

enum ExitStatus : int {
  kGood = 0,
  kBad = 1,         ///< a scenario did not end as it must
  kBadRequest = 2,  ///< usage or input error, or interrupted
};

/// Options of every command that starts machines.
struct CommonOptions {
  std::string accelerator = "auto";
  std::string agent;
  std::string product;
  std::string image_script;
  std::string qemu;
  double time_scale = 1;
  bool no_snapshots = false;
};

void add_common_options(CLI::App& command, CommonOptions& options);
/// Errors: a part that does not exist.
[[nodiscard]] Result<RunOptions> make_run_options(const CommonOptions& options, int interrupt_fd);

/// "pinfold-harness: message" on standard error; returns kBadRequest.
int report(const Error& error);

/// The reports that are made out of the JSON one. Empty: not wanted.
struct ReportViews {
  std::string html_file;
  std::string junit_file;
};

void add_view_options(CLI::App& command, ReportViews& views);
/// Returns the exit status.
int write_views(const nlohmann::json& report_json, const ReportViews& views);

void add_run(CLI::App& app, int interrupt_fd, int& exit_status);
void add_demo(CLI::App& app, int interrupt_fd, int& exit_status);
void add_list(CLI::App& app, int& exit_status);
void add_shell(CLI::App& app, int interrupt_fd, int& exit_status);
void add_machine(CLI::App& app, int interrupt_fd, int& exit_status);
void add_report(CLI::App& app, int& exit_status);
void add_clean(CLI::App& app, int& exit_status);

/// The files named, and all *.yaml below the folders named but machines.yaml, in order.
[[nodiscard]] Result<std::vector<std::filesystem::path>> find_files(
    const std::vector<std::string>& names);

/// A scenario on one platform, and its file.
struct FoundScenario {
  std::filesystem::path file;
  Scenario scenario;
};

/// Is its platform selected by one of `selectors`? Without any, every one is.
[[nodiscard]] bool is_selected(const Scenario& scenario, const std::vector<std::string>& selectors);

/// The scenarios of find_files(names) on every platform that one of `selectors` selects; without
/// selectors on all of their platforms.
/// Errors: the first file that is wrong; no scenario is left.
[[nodiscard]] Result<std::vector<FoundScenario>> find_scenarios(
    const std::vector<std::string>& names, const std::vector<std::string>& selectors);
/// The first of a file.
[[nodiscard]] Result<Scenario> find_scenario(const std::string& file,
                                             const std::vector<std::string>& selectors);
void add_platform_option(CLI::App& command, std::vector<std::string>& selectors);

}  // namespace pinfold::harness
