#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "agent_options.hpp"
#include "pinfold/checkpoint/convert.hpp"
#include "pinfold/checkpoint/store.hpp"

/// What the subcommands of `pinfold checkpoint` share.
namespace pinfold::tools {

void add_checkpoint_convert(CLI::App& group, int& exit_status);
void add_checkpoint_diff(CLI::App& group, int& exit_status);
void add_checkpoint_repair(CLI::App& group, int& exit_status);

struct StateFile {
  std::string path;
  std::string bytes;
  bool is_cpu = true;
};

/// State files as they are; a directory stands for those in it.
/// Errors: kNotFound, also for a directory without any.
[[nodiscard]] Result<std::vector<StateFile>> read_files(const std::vector<std::string>& paths);

/// The two state files of a directory and the one of our own. Errors: as read_files.
[[nodiscard]] Result<checkpoint::Files> read_directory(const std::string& path);

/// The containers in what `crictl ps -a -o json` prints; none for "".
[[nodiscard]] Result<checkpoint::ContainerIds> read_container_ids(const std::string& path);
void add_container_ids_option(CLI::App& command, std::string& path);

/// "  OBJECT  text" lines, aligned; nothing for no notes.
void print_notes(const std::string& title, const std::vector<checkpoint::Note>& notes);
[[nodiscard]] nlohmann::json to_json(const std::vector<checkpoint::Note>& notes);

}  // namespace pinfold::tools
