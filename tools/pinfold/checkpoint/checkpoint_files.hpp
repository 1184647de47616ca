#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/agent_arguments.hpp"
#include "pinfold/agent/desired.hpp"
#include "pinfold/checkpoint/convert.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/store.hpp"

/// Shared by the subcommands of `pinfold checkpoint`.
namespace pinfold::tools {

[[nodiscard]] cli::Command checkpoint_convert_command();
[[nodiscard]] cli::Command checkpoint_diff_command();
[[nodiscard]] cli::Command checkpoint_repair_command();

/// Returns the context of an error after a commit, because these commands are about the kubelet's
/// files, not the journal.
[[nodiscard]] inline std::string only_in_journal() {
  return std::string(checkpoint::kNotSettled) + "; run the command again";
}

struct StateFile {
  std::string path;
  std::string bytes;
  bool is_cpu = true;
};

/// Whether a JSON value without keys, such as {}, is read: each kubelet has an answer to it.
enum class Keyless { kRefuse, kAccept };

/// Reads state files; a directory means all state files in it, including the changes in its
/// journal. Warns if the journal is newer than a file.
/// Errors: kNotFound, including for a directory without state files; kInvalidArgument for a file
/// that is not a CPU or memory manager's, which is named if possible.
[[nodiscard]] Result<std::vector<StateFile>> read_files(const std::vector<std::string>& paths,
                                                        Keyless keyless = Keyless::kRefuse);

/// Returns the error of a file that cannot be inspected, with its name. Go's message for a file
/// that is not a JSON object does not say so.
[[nodiscard]] Error not_inspected(const StateFile& file, Error error);

/// Declares the argument with such paths.
[[nodiscard]] cli::Option state_files_option(std::vector<std::string>& paths);

/// Opens a directory with state files. Errors: kInvalidArgument for a file, and what to pass
/// instead.
[[nodiscard]] Result<std::unique_ptr<checkpoint::Fs>> open_files_directory(const std::string& path);

/// Reads the kubelet's two state files and Pinfold's own file. Errors: as read_files.
[[nodiscard]] Result<checkpoint::Files> read_directory(const std::string& path);

/// Reads the active pods from .pinfold_pods; none without such a file. Errors: kCorrupt.
[[nodiscard]] Result<agent::AgentState> read_active_pods(const checkpoint::Files& files);
/// Returns the specs of the active pods, in the order of their admission.
[[nodiscard]] std::vector<PodSpec> specs_of(const agent::AgentState& state);

/// Reads the containers from the output of `crictl ps -a -o json`; none for the path "".
[[nodiscard]] Result<checkpoint::ContainerIds> read_container_ids(const std::string& path);
[[nodiscard]] cli::Option container_ids_option(std::string& path);

/// Returns the result of a validation that found no problem: "passes", unless upstream's kubelet
/// refuses feature gates. Nothing shows whether a kubelet is upstream's, except gates of OpenShift.
[[nodiscard]] std::string describe_passed(const Config& config);

/// Prints the title and aligned lines "  OBJECT  text"; prints nothing without notes.
void print_notes(const std::string& title, const std::vector<checkpoint::Note>& notes);

}  // namespace pinfold::tools
