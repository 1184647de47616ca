#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint_files.hpp"

namespace pinfold::tools {
namespace {

struct ConvertOptions {
  NodeOptions node;
  std::string from;
  std::string to;
  std::string out;
  std::string container_ids;
  bool dry_run = false;
  OutputFormat output = OutputFormat::kText;
};

/// Would the kubelet that is meant start from it? "": yes; nullopt: nobody said how it is
/// configured.
Result<std::optional<std::string>> try_start(const ConvertOptions& options,
                                             const checkpoint::Formats& to,
                                             const checkpoint::KubeletFiles& files,
                                             const checkpoint::ContainerIds& ids) {
  NodeOptions node_options = options.node;
  node_options.state_dir = options.from;
  if (node_options.config.empty() && !std::filesystem::exists(options.from + "/config.yaml")) {
    return std::nullopt;
  }
  if (node_options.profile.empty()) node_options.profile = "kubelet-1.36";
  PINFOLD_LET(auto config, read_config(node_options));
  // CPU V4 is read with the gate on and off; of the others, each has its gate.
  if (to.cpu < 4) config.feature_gates["PodLevelResourceManagers"] = to.cpu == 3;
  PINFOLD_LET(auto node, make_node(node_options, std::move(config)));
  const auto started = checkpoint::would_start(node, to, files, ids);
  if (started) return std::string();
  return fmt::format("{}: {}", to_string(started.error().stage), started.error().error);
}

Result<void> write(const std::string& directory, const checkpoint::Files& files) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) return fail_errno(failed.value(), fmt::format("create '{}'", directory));
  PINFOLD_LET(auto store, checkpoint::Store::open(directory));
  PINFOLD_LET(const auto before, store.load());
  if (before.cpu || before.memory || before.pods) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--out '{}': has state files already, expected a directory without",
                            directory));
  }
  PINFOLD_TRY(store.commit(files));
  return store.checkpoint_journal();
}

int run(const ConvertOptions& options) {
  const auto to = checkpoint::parse_formats(options.to);
  if (!to) return report(to.error());
  auto files = read_directory(options.from);
  if (!files) return report(files.error());
  const auto ids = read_container_ids(options.container_ids);
  if (!ids) return report(ids.error());
  auto done = checkpoint::convert({files->cpu, files->memory}, *to, *ids);
  if (!done) return report(Error(done.error()).wrap(fmt::format("'{}'", options.from)));
  const auto start = try_start(options, *to, done->files, *ids);
  if (!start) return report(start.error());
  if (!options.dry_run) {
    const auto written = write(options.out, {done->files.cpu, done->files.memory, files->pods});
    if (!written) return report(written.error());
  }
  if (options.output == OutputFormat::kJson) {
    nlohmann::json out = {{"kept", to_json(done->kept)},
                          {"lost", to_json(done->lost)},
                          {"written", !options.dry_run},
                          {"starts", nullptr}};
    if (*start) out["starts"] = (*start)->empty();
    if (*start && !(*start)->empty()) out["error"] = **start;
    fmt::print("{}\n", out.dump(2));
  } else {
    print_notes("kept", done->kept);
    print_notes("what CPU V" + std::to_string(to->cpu) + " and memory V" +
                    std::to_string(to->memory) + " cannot express",
                done->lost);
    fmt::print("start-up validation of that kubelet: {}\n",
               !*start             ? "not tried, no configuration given (--config)"
               : (*start)->empty() ? "passes"
                                   : "fails: " + **start);
    fmt::print("{}\n", options.dry_run ? "nothing written (--dry-run)"
                                       : fmt::format("written to {}", options.out));
  }
  return *start && !(*start)->empty() ? kNo : kYes;
}

}  // namespace

void add_checkpoint_convert(CLI::App& group, int& exit_status) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* const command = group.add_subcommand(
      "convert",
      "Write state files for another kubelet, an older one for example; exit status 1 if it would "
      "not start from them");
  command->add_option("directory", options->from, "Directory with state files")->required();
  command
      ->add_option("--to", options->to,
                   "cpu-v1 to cpu-v4 or memory-v1 to memory-v3; the other file becomes what the "
                   "same kubelet writes")
      ->type_name("FORMAT")
      ->required();
  command->add_option("--out", options->out, "Where to write; must have no state files yet")
      ->type_name("DIR")
      ->required();
  command->add_flag("--dry-run", options->dry_run, "Tell what would be done, write nothing");
  add_container_ids_option(*command, options->container_ids);
  add_node_options(*command, options->node);
  add_output_option(*command, options->output);
  command->callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace pinfold::tools
