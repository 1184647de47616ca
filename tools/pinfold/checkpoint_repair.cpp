#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint_files.hpp"
#include "pinfold/checkpoint/repair.hpp"

namespace pinfold::tools {
namespace {

namespace cp = checkpoint;

struct RepairOptions {
  NodeOptions node;
  std::string container_ids;
  bool dry_run = false;
  OutputFormat output = OutputFormat::kText;
};

Result<cp::Orphans> read_orphans(cp::Fs& fs) {
  PINFOLD_LET(const auto names, fs.list());
  cp::Orphans orphans;
  for (const std::string& name : names) {
    if (!cp::is_orphan_name(name)) continue;
    if (auto bytes = fs.read(name); bytes && *bytes) orphans[name] = **bytes;
  }
  return orphans;
}

/// A free name under which the old contents are kept.
std::string aside_name(const std::string& name, const std::vector<std::string>& taken) {
  for (int number = 1;; ++number) {
    std::string aside = fmt::format(".pinfold_before_repair.{}.{}", number, name);
    if (std::find(taken.begin(), taken.end(), aside) == taken.end()) return aside;
  }
}

Result<void> copy_aside(cp::Fs& fs, const std::string& bytes, const std::string& aside) {
  PINFOLD_LET(auto file, fs.create(aside));
  for (std::string_view rest = bytes; !rest.empty();) {
    PINFOLD_LET(const auto count, file->write(rest));
    rest.remove_prefix(count);
  }
  PINFOLD_TRY(file->sync());
  return fs.sync_directory();
}

/// Copies the old files, commits the new ones in one transaction, then renames the orphans.
Result<std::vector<cp::Note>> write(cp::Store& store, cp::Fs& fs, const cp::Repaired& repaired,
                                    const cp::Files& before, const cp::Orphans& orphans) {
  PINFOLD_LET(const auto taken, fs.list());
  std::vector<cp::Note> kept;
  for (const bool is_cpu : {true, false}) {
    const std::string name(is_cpu ? cp::kCpuFileName : cp::kMemoryFileName);
    const auto& old_bytes = is_cpu ? before.cpu : before.memory;
    if (!old_bytes || old_bytes == (is_cpu ? repaired.files.cpu : repaired.files.memory)) continue;
    const std::string aside = aside_name(name, taken);
    PINFOLD_TRY(copy_aside(fs, *old_bytes, aside));
    kept.push_back({name, "the old file is kept as " + aside});
  }
  PINFOLD_TRY(store.commit({repaired.files.cpu, repaired.files.memory, {}}));
  PINFOLD_TRY(store.checkpoint_journal());
  for (const auto& [name, bytes] : orphans) {
    const std::string aside = aside_name(name.substr(1), taken);
    PINFOLD_TRY(fs.rename(name, aside));
    kept.push_back({name, "unused temporary file, now " + aside});
  }
  return kept;
}

struct Outcome {
  cp::Repaired repaired;
  std::vector<cp::Note> kept;
  std::string validation;  ///< of the kubelet's start-up: "passes", "fails: ..."
  bool starts = false;
  bool needed = false;
  bool written = false;
};

void print(const RepairOptions& options, const Outcome& outcome) {
  const auto& [repaired, kept, validation, starts, needed, written] = outcome;
  if (options.output == OutputFormat::kJson) {
    const nlohmann::json out = {{"done", to_json(repaired.done)},
                                {"lost", to_json(repaired.lost)},
                                {"kept", to_json(kept)},
                                {"written", written},
                                {"starts", starts},
                                {"validation", validation}};
    fmt::print("{}\n", out.dump(2));
    return;
  }
  print_notes("repaired", repaired.done);
  print_notes("could not be saved", repaired.lost);
  print_notes("kept aside", kept);
  if (!needed) fmt::print("nothing to repair\n");
  fmt::print("start-up validation: {}\n", validation);
  if (needed && !written) {
    fmt::print("nothing written{}\n", options.dry_run ? " (--dry-run)" : "");
  }
}

Result<ExitStatus> run(const RepairOptions& options) {
  const std::string& directory = options.node.state_dir;
  PINFOLD_LET(auto config, read_config(options.node));
  PINFOLD_LET(const auto node, make_node(options.node, std::move(config)));
  PINFOLD_LET(const auto ids, read_container_ids(options.container_ids));
  PINFOLD_LET(const auto fs, cp::open_directory(directory));
  // Opening completes an interrupted commit, and locks out other writers until the end.
  std::optional<cp::Store> store;
  if (!options.dry_run) {
    PINFOLD_LET(auto opened, cp::Store::open(directory));
    store.emplace(std::move(opened));
  }
  PINFOLD_LET(const auto before, read_directory(directory));
  PINFOLD_LET(const auto orphans, read_orphans(*fs));

  Outcome outcome;
  outcome.repaired = cp::repair(node, {before.cpu, before.memory}, ids, orphans);
  const auto started = cp::would_start(node, outcome.repaired.formats, outcome.repaired.files, ids);
  outcome.starts = started.has_value();
  outcome.validation = started ? "passes"
                               : fmt::format("fails: {}: {}", to_string(started.error().stage),
                                             started.error().error);
  outcome.needed = outcome.repaired.changed() || !orphans.empty();
  outcome.written = outcome.needed && outcome.starts && !options.dry_run;
  if (outcome.written) {
    PINFOLD_LET(outcome.kept, write(*store, *fs, outcome.repaired, before, orphans));
  }
  print(options, outcome);
  return outcome.starts ? kYes : kNo;
}

}  // namespace

cli::Command checkpoint_repair_command() {
  auto options = std::make_shared<RepairOptions>();
  options->node.state_dir.clear();  // given as the argument
  cli::Command command{"repair",
                       "Repair state files that a kubelet refuses to load; keeps every assignment "
                       "that can be saved, and a copy of the old files"};
  command.add({{.name = "directory",
                .target = &options->node.state_dir,
                .help = "Directory with state files",
                .required = true},
               {"--dry-run", &options->dry_run, "Print what would be done, write nothing"},
               container_ids_option(options->container_ids)});
  command.add(node_options(options->node));
  command.add({output_option(options->output)});
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
