#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint_files.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

struct ConvertOptions {
  NodeOptions node;
  std::string from;
  std::string to;
  std::string out;
  std::string container_ids;
  bool dry_run = false;
  bool is_insecure = false;
  OutputFormat output = OutputFormat::kText;
};

/// How the kubelet starts from the converted files.
struct Start {
  bool is_known = false;  ///< its configuration is known
  std::string problem;    ///< why it does not start; "": it does
  std::vector<checkpoint::Note> rejected;

  [[nodiscard]] bool is_ok() const { return problem.empty() && rejected.empty(); }
};

Result<Start> try_start(const ConvertOptions& options, const checkpoint::Formats& to,
                        const checkpoint::KubeletFiles& files, const checkpoint::ContainerIds& ids,
                        const std::vector<PodSpec>& pods) {
  NodeOptions node_options = options.node;
  node_options.state_dir = options.from;
  Start start;
  if (node_options.config.empty() && !std::filesystem::exists(options.from + "/config.yaml")) {
    return start;
  }
  start.is_known = true;
  if (node_options.profile.empty()) node_options.profile = "kubelet-1.36";
  PINFOLD_LET(auto config, read_config(node_options));
  // CPU V4 is read with the gate on and off; each other version needs one setting of the gate.
  if (to.cpu < 4) config.feature_gates["PodLevelResourceManagers"] = to.cpu == 3;
  PINFOLD_LET(const auto node, make_node(node_options, std::move(config)));
  const auto started = checkpoint::would_start(node, to, files, ids);
  if (!started) {
    start.problem = fmt::format("{}: {}", to_string(started.error().stage), started.error().error);
  }
  start.rejected = checkpoint::pods_without_room(node, pods);
  return start;
}

/// Fails for a directory that has state files.
Result<void> check_target(const std::string& directory) {
  if (!std::filesystem::exists(directory)) return {};
  PINFOLD_LET(const auto fs, checkpoint::open_directory(directory));
  PINFOLD_LET(const auto before, checkpoint::read_files(*fs));
  if (!before.cpu && !before.memory && !before.pods) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("--out '{}': has state files already, expected a directory without", directory));
}

Result<void> write(const std::string& directory, const checkpoint::Files& files,
                   checkpoint::OwnerCheck owners) {
  PINFOLD_TRY(check_target(directory));
  PINFOLD_TRY(checkpoint::make_state_directory(directory));
  PINFOLD_LET(auto store,
              checkpoint::Store::open(directory, checkpoint::Store::kLockTimeout, owners));
  PINFOLD_TRY(check_target(directory));  // again, now that no other process writes
  PINFOLD_TRY(store.commit(files));
  PINFOLD_TRY_WRAP(store.checkpoint_journal(), only_in_journal());
  return {};
}

void print(const ConvertOptions& options, const checkpoint::Formats& to,
           const checkpoint::Conversion& converted, const Start& start) {
  if (options.output == OutputFormat::kJson) {
    nlohmann::json out = {{"kept", to_json(converted.kept)},
                          {"lost", to_json(converted.lost)},
                          {"rejected", to_json(start.rejected)},
                          {"written", !options.dry_run},
                          {"starts", nullptr}};
    if (start.is_known) out["starts"] = start.problem.empty();
    if (!start.problem.empty()) out["error"] = start.problem;
    fmt::print("{}\n", out.dump(2));
    return;
  }
  print_notes("kept", converted.kept);
  print_notes(fmt::format("cannot be expressed in CPU V{} and memory V{}", to.cpu, to.memory),
              converted.lost);
  print_notes("rejected by that kubelet", start.rejected);
  fmt::print("start-up validation of that kubelet: {}\n",
             !start.is_known         ? "not run, no configuration given (--config)"
             : start.problem.empty() ? "passes"
                                     : "fails: " + escaped(start.problem));
  fmt::print("{}\n", options.dry_run ? "nothing written (--dry-run)"
                                     : fmt::format("written to {}", escaped(options.out)));
}

Result<ExitStatus> run(const ConvertOptions& options) {
  PINFOLD_LET(const auto to, checkpoint::parse_formats(options.to));
  PINFOLD_LET(const auto files, read_directory(options.from));
  PINFOLD_LET(const auto pods, read_active_pods(files));
  PINFOLD_LET(const auto ids, read_container_ids(options.container_ids));
  PINFOLD_LET_WRAP(const auto converted, checkpoint::convert({files.cpu, files.memory}, to, ids),
                   fmt::format("'{}'", options.from));
  PINFOLD_LET(const auto start, try_start(options, to, converted.files, ids, specs_of(pods)));
  if (!options.dry_run) {
    PINFOLD_TRY(write(options.out, {converted.files.cpu, converted.files.memory, files.pods},
                      checkpoint::owner_check(options.is_insecure)));
  }
  print(options, to, converted, start);
  return start.is_ok() ? kYes : kNo;
}

}  // namespace

cli::Command checkpoint_convert_command() {
  auto options = std::make_shared<ConvertOptions>();
  cli::Command command{
      "convert",
      "Write state files for another kubelet version, for example an older one; exit status 1 if "
      "that kubelet would not start from them, or would reject a pod of them"};
  command.add(
      {{.name = "directory",
        .target = &options->from,
        .help = "Directory with state files",
        .required = true},
       {.name = "--to",
        .target = &options->to,
        .help = "cpu-v1 to cpu-v4 or memory-v1 to memory-v3; the other file gets the format "
                "of the same kubelet version",
        .value = "FORMAT",
        .required = true,
        .suggestions = {"cpu-v1", "cpu-v2", "cpu-v3", "cpu-v4", "memory-v1", "memory-v2",
                        "memory-v3"}},
       {.name = "--out",
        .target = &options->out,
        .help = "Output directory, without state files",
        .value = "DIR",
        .required = true},
       {"--dry-run", &options->dry_run, "Print what would be done, write nothing"},
       insecure_state_dir_option(options->is_insecure),
       container_ids_option(options->container_ids)});
  command.add(node_options(options->node));
  command.add({output_option(options->output)});
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
