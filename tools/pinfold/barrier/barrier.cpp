#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "barrier/barrier_files.hpp"
#include "commands.hpp"
#include "output.hpp"
#include "pinfold/agent/options.hpp"
#include "pinfold/audit/barrier_paths.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/socket/unix_socket.hpp"
#include "program_output.hpp"

/// pinfold barrier: makes a container runtime run pinfold-gate.
namespace pinfold::tools {
namespace {

enum class BarrierRuntime { kContainerd, kCrio, kPodman };

constexpr int kTimeAfterGate = 5;

struct BarrierOptions {
  BarrierRuntime runtime = BarrierRuntime::kContainerd;
  std::string config_file = audit::kContainerdConfig;
  std::string runtime_class = "runc";
  std::string spec_file = audit::kGateSpec;
  std::string base_spec;  ///< "": asks ctr
  std::string hooks_dir = audit::kHooksDirectory;
  std::string state_dir = agent::kDefaultStateDir;
  std::string socket = socket::kDefaultSocket;
  std::string log;
  std::string unplaced = "refuse";
  std::vector<std::string> unplaced_in;
  std::vector<std::string> exempt = {"kube-system"};
  int time_limit_s = 3;
  bool dry_run = false;
};

Result<std::optional<std::string>> read_if_exists(const std::string& path) {
  auto text = read_file(path);
  if (text) return std::optional(*std::move(text));
  if (text.error().code == ErrorCode::kNotFound) return std::optional<std::string>();
  return tl::unexpected(std::move(text).error());
}

/// The runtime and the gate have working directories of their own.
std::string absolute(const std::string& path) { return std::filesystem::absolute(path); }

/// Writes a file as a whole and keeps its mode, or removes it.
Result<void> apply(const FileEdit& edit) {
  namespace fs = std::filesystem;
  const fs::path path(absolute(edit.path));
  const std::string name = path.filename();
  PINFOLD_LET(const auto directory, checkpoint::open_directory(path.parent_path()));
  if (edit.before == edit.after) return {};
  if (!edit.after) {
    PINFOLD_TRY(directory->remove(name));
    return directory->sync_directory();
  }
  constexpr auto kMode = static_cast<fs::perms>(0644);
  const fs::perms mode = edit.before ? fs::status(path).permissions() : kMode;
  const std::string temporary = name + ".pinfold-new";
  PINFOLD_LET(const auto file, directory->create(temporary));
  PINFOLD_TRY(checkpoint::write_all(*file, *edit.after));
  PINFOLD_TRY(file->sync());
  fs::permissions(path.parent_path() / temporary, mode);
  PINFOLD_TRY(directory->rename(temporary, name));
  return directory->sync_directory();
}

Result<std::string> find_gate() {
  PINFOLD_LET(const auto places, places_of_program("pinfold-gate"));
  for (const std::string& place : places) {
    if (std::filesystem::exists(place)) return place;
  }
  return fail(ErrorCode::kNotFound,
              "pinfold-gate is not installed: expected it next to this program or in its libexec "
              "directory; install the package pinfold-agent");
}

Result<GateHook> gate_hook(const BarrierOptions& options) {
  PINFOLD_LET(const auto program, find_gate());
  GateHook hook{program, {"--unplaced", options.unplaced}, options.time_limit_s + kTimeAfterGate};
  const auto add = [&](const std::string& name, const std::string& value) {
    hook.arguments.insert(hook.arguments.end(), {name, value});
  };
  add("--time-limit-ms", std::to_string(options.time_limit_s * 1000));
  add("--state-dir", absolute(options.state_dir));
  add("--socket", absolute(options.socket));
  if (!options.log.empty()) add("--log", absolute(options.log));
  for (const std::string& rule : options.unplaced_in) add("--unplaced-in", rule);
  for (const std::string& exempt : options.exempt) add("--exempt", exempt);
  return hook;
}

Result<std::string> base_spec(const BarrierOptions& options) {
  if (!options.base_spec.empty()) return read_file(options.base_spec);
  constexpr std::size_t kMost = std::size_t{1} << 20U;
  for (const char* const ctr : {"/usr/bin/ctr", "/usr/local/bin/ctr"}) {
    if (std::filesystem::exists(ctr)) return program_output(ctr, {"oci", "spec"}, kMost);
  }
  return fail(ErrorCode::kNotFound,
              "ctr is in neither /usr/bin nor /usr/local/bin: expected --base-spec FILE with the "
              "output of 'ctr oci spec'");
}

std::string hooks_path(const BarrierOptions& options) {
  return options.hooks_dir + "/" + audit::kGateHookFile;
}

/// Returns the files of a runtime, unchanged.
Result<std::vector<FileEdit>> barrier_edits(const BarrierOptions& options) {
  std::vector<FileEdit> edits = {{hooks_path(options), {}, {}}};
  if (options.runtime == BarrierRuntime::kContainerd) {
    edits = {{options.spec_file, {}, {}}, {options.config_file, {}, {}}};
  }
  for (FileEdit& edit : edits) {
    PINFOLD_LET(edit.before, read_if_exists(edit.path));
    edit.after = edit.before;
  }
  return edits;
}

Result<std::vector<FileEdit>> plan_install(const BarrierOptions& options) {
  PINFOLD_LET(auto edits, barrier_edits(options));
  PINFOLD_LET(const auto hook, gate_hook(options));
  if (options.runtime != BarrierRuntime::kContainerd) {
    edits.front().after = hooks_file(hook);
    return edits;
  }
  PINFOLD_LET(const auto spec, base_spec(options));
  PINFOLD_LET(edits.front().after, spec_with_gate(spec, hook));
  if (!edits.back().before) {
    return fail(ErrorCode::kNotFound,
                fmt::format("'{}' does not exist: expected the configuration of containerd; "
                            "'containerd config default' prints one",
                            options.config_file));
  }
  PINFOLD_LET_WRAP(edits.back().after,
                   config_with_gate(without_gate(*edits.back().before), options.runtime_class,
                                    absolute(options.spec_file)),
                   options.config_file);
  return edits;
}

Result<std::vector<FileEdit>> plan_remove(const BarrierOptions& options) {
  PINFOLD_LET(auto edits, barrier_edits(options));
  if (edits.size() > 1) std::swap(edits.front(), edits.back());  // the user of the file first
  for (FileEdit& edit : edits) edit.after.reset();
  FileEdit& config = edits.front();
  if (edits.size() > 1 && config.before) config.after = without_gate(*config.before);
  return edits;
}

void print_next_step(const BarrierOptions& options) {
  if (options.runtime == BarrierRuntime::kContainerd) {
    fmt::print("Restart containerd: it reads its configuration when it starts.\n");
  } else {
    fmt::print("In effect for new containers.\n");
  }
}

/// Prints the edits and makes them.
Result<ExitStatus> carry_out(const std::vector<FileEdit>& edits, const BarrierOptions& options) {
  std::string text;
  for (const FileEdit& edit : edits) text += describe_edit(edit);
  fmt::print("{}", text.empty() ? "Nothing to change.\n" : text);
  if (options.dry_run || text.empty()) return kYes;
  for (const FileEdit& edit : edits) {
    if (edit.before == edit.after) continue;
    PINFOLD_TRY_WRAP(changing([&] { return apply(edit); }), edit.path);
    note_change();
  }
  print_next_step(options);
  return kYes;
}

Result<ExitStatus> run_install(const BarrierOptions& options) {
  PINFOLD_LET(const auto edits, plan_install(options));
  return carry_out(edits, options);
}

Result<ExitStatus> run_remove(const BarrierOptions& options) {
  PINFOLD_LET(const auto edits, plan_remove(options));
  return carry_out(edits, options);
}

Result<ExitStatus> run_status(const BarrierOptions& options) {
  PINFOLD_LET(const auto edits, plan_remove(options));
  const bool is_installed = std::all_of(
      edits.begin(), edits.end(), [](const FileEdit& edit) { return edit.before != edit.after; });
  for (const FileEdit& edit : edits) {
    const bool has_gate = edit.before != edit.after;
    const char* const state = has_gate      ? "runs the gate"
                              : edit.before ? "does not run the gate"
                                            : "missing";
    fmt::print("{}: '{}'\n", state, edit.path);
  }
  return is_installed ? kYes : kNo;
}

std::vector<cli::Option> file_options(BarrierOptions& options) {
  return {{.name = "--runtime",
           .target = cli::one_of<BarrierRuntime>(options.runtime,
                                                 {{"containerd", BarrierRuntime::kContainerd},
                                                  {"crio", BarrierRuntime::kCrio},
                                                  {"podman", BarrierRuntime::kPodman}}),
           .help = "The container runtime"},
          {"--config-file", &options.config_file, "The configuration of containerd", "FILE"},
          {"--spec-file", &options.spec_file,
           "The specification that containerd starts from: this command makes it", "FILE"},
          {"--hooks-dir", &options.hooks_dir, "Where CRI-O or podman look for hooks", "DIR"}};
}

std::vector<cli::Option> gate_options(BarrierOptions& options) {
  return {{"--runtime-class", &options.runtime_class, "The runtime class of containerd", "NAME"},
          {"--base-spec", &options.base_spec, "The output of 'ctr oci spec' [runs ctr]", "FILE"},
          {.name = "--unplaced",
           .target = cli::one_of(options.unplaced, {"refuse", "confine", "allow"}),
           .help = "What happens to an unplaced container"},
          {"--unplaced-in", &options.unplaced_in, "The same for one namespace", "NAMESPACE=MODE"},
          {"--exempt", &options.exempt,
           "Containers that always pass: a namespace, NAMESPACE/POD or NAMESPACE/PREFIX*", "NAME"},
          {.name = "--time-limit",
           .target = cli::Integer{&options.time_limit_s, 1, 60},
           .help = "How long a container waits at most, in seconds, 1 to 60",
           .value = "SECONDS"},
          {"--log", &options.log, "An existing file to which the gate appends its lines", "FILE"},
          {"--state-dir", &options.state_dir, "The state directory of the service", "DIR"},
          {"--socket", &options.socket, "The socket of the service", "PATH"}};
}

cli::Option dry_run_option(BarrierOptions& options) {
  return {"--dry-run", &options.dry_run, "Print the changes, and make none"};
}

cli::Command barrier_install_command() {
  auto options = std::make_shared<BarrierOptions>();
  cli::Command command{"install", "Make a container runtime run pinfold-gate; prints each change"};
  command.add(file_options(*options));
  command.add(gate_options(*options));
  command.add({dry_run_option(*options)});
  command.sections = {{"Examples",
                       {{"pinfold barrier install --runtime podman --unplaced confine --dry-run",
                         "What would change for podman"}}}};
  command.run = [options] { return exit_status(run_install(*options)); };
  return command;
}

cli::Command barrier_remove_command() {
  auto options = std::make_shared<BarrierOptions>();
  cli::Command command{
      "remove", "Undo 'barrier install' and restore the files byte for byte; prints each change"};
  command.add(file_options(*options));
  command.add({dry_run_option(*options)});
  command.sections = {{"Examples", {{"pinfold barrier remove --dry-run", "Only print it"}}}};
  command.run = [options] { return exit_status(run_remove(*options)); };
  return command;
}

cli::Command barrier_status_command() {
  auto options = std::make_shared<BarrierOptions>();
  cli::Command command{"status", "Print whether a container runtime runs pinfold-gate"};
  command.add(file_options(*options));
  command.sections = {{"Examples", {{"pinfold barrier status --runtime podman", "podman's"}}}};
  command.run = [options] { return exit_status(run_status(*options)); };
  return command;
}

}  // namespace

cli::Command barrier_command() {
  return {
      .name = "barrier",
      .help = "Let containers start only on their assigned CPUs, even when NRI fails",
      .commands = {barrier_install_command(), barrier_remove_command(), barrier_status_command()}};
}

}  // namespace pinfold::tools
