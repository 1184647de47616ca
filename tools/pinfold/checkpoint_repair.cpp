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

/// A name of ours that is free: the old contents are kept under it.
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

/// The old files under other names, then the new ones in one transaction, then the orphans away.
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
    kept.push_back({name, "a temporary file that nobody needs: now " + aside});
  }
  return kept;
}

int run(const RepairOptions& options) {
  const std::string& directory = options.node.state_dir;
  auto config = read_config(options.node);
  if (!config) return report(config.error());
  auto node = make_node(options.node, *std::move(config));
  if (!node) return report(node.error());
  const auto ids = read_container_ids(options.container_ids);
  if (!ids) return report(ids.error());
  auto fs = cp::open_directory(directory);
  if (!fs) return report(fs.error());
  // What an interrupted commit left is brought to its end first; nobody writes until all is done.
  std::optional<cp::Store> store;
  if (!options.dry_run) {
    auto opened = cp::Store::open(directory);
    if (!opened) return report(opened.error());
    store.emplace(*std::move(opened));
  }
  const auto before = read_directory(directory);
  if (!before) return report(before.error());
  const auto orphans = read_orphans(**fs);
  if (!orphans) return report(orphans.error());

  const cp::Repaired repaired = cp::repair(*node, {before->cpu, before->memory}, *ids, *orphans);
  const auto starts = cp::would_start(*node, repaired.formats, repaired.files, *ids);
  const bool needed = repaired.changed() || !orphans->empty();
  const bool writes = needed && !options.dry_run && starts.has_value();
  Result<std::vector<cp::Note>> kept;
  if (writes) kept = write(*store, **fs, repaired, *before, *orphans);
  if (!kept) return report(kept.error());
  const std::string verdict =
      starts ? "passes"
             : fmt::format("fails: {}: {}", to_string(starts.error().stage), starts.error().error);
  if (options.output == OutputFormat::kJson) {
    const nlohmann::json out = {{"done", to_json(repaired.done)}, {"lost", to_json(repaired.lost)},
                                {"kept", to_json(*kept)},         {"written", writes},
                                {"starts", starts.has_value()},   {"validation", verdict}};
    fmt::print("{}\n", out.dump(2));
  } else {
    print_notes("repaired", repaired.done);
    print_notes("could not be saved", repaired.lost);
    print_notes("kept aside", *kept);
    if (!needed) fmt::print("nothing to repair\n");
    fmt::print("start-up validation: {}\n", verdict);
    if (needed && !writes) {
      fmt::print("nothing written{}\n", options.dry_run ? " (--dry-run)" : "");
    }
  }
  return starts ? kYes : kNo;
}

}  // namespace

void add_checkpoint_repair(CLI::App& group, int& exit_status) {
  auto options = std::make_shared<RepairOptions>();
  CLI::App* const command = group.add_subcommand(
      "repair",
      "Make state files that a kubelet refuses such that it starts, and save every assignment that "
      "can be saved; the old files are kept");
  command->add_option("directory", options->node.state_dir, "Directory with state files")
      ->required();
  command->add_flag("--dry-run", options->dry_run, "Tell what would be done, write nothing");
  add_container_ids_option(*command, options->container_ids);
  add_node_options(*command, options->node);
  add_output_option(*command, options->output);
  command->callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace pinfold::tools
