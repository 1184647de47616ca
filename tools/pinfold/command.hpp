#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"

namespace pinfold::tools {

/// Exit status of every command: what scripts branch on.
enum ExitStatus : int {
  kYes = 0,         ///< done, admitted, equal
  kNo = 1,          ///< a negative answer: rejected, check failed, different
  kBadRequest = 2,  ///< usage or input error
};

/// Each subcommand lives in a file of its own and adds itself here. When it is chosen, its callback
/// stores the exit status.
void add_checkpoint(CLI::App& app, int& exit_status);
void add_admit(CLI::App& app, int& exit_status);
void add_hook(CLI::App& app, int& exit_status);
void add_metrics(CLI::App& app, int& exit_status);
void add_oci_resources(CLI::App& app, int& exit_status);
void add_predict(CLI::App& app, int& exit_status);
void add_reconcile(CLI::App& app, int& exit_status);
void add_remove(CLI::App& app, int& exit_status);
void add_simulate(CLI::App& app, int& exit_status);
void add_start(CLI::App& app, int& exit_status);
void add_status(CLI::App& app, int& exit_status);
void add_topology(CLI::App& app, int& exit_status);

/// The whole command: what --help, the man page and the completions are made from.
void add_commands(CLI::App& app, int& exit_status);

/// Reads a whole file, or standard input for "-". Errors name the file.
[[nodiscard]] Result<std::string> read_input(const std::string& path);
/// The pods of all files, with the API server's defaults, checked before the first one is used.
/// Errors: kInvalidArgument, with file and document; also if there is no pod.
[[nodiscard]] Result<std::vector<PodSpec>> read_pods(const std::vector<std::string>& files);
/// Prints "pinfold: message" to standard error; returns kBadRequest.
int report(const Error& error);

enum class OutputFormat { kText, kJson };
/// Adds --output text|json to a subcommand.
void add_output_option(CLI::App& command, OutputFormat& format);

}  // namespace pinfold::tools
