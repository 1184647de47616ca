#include "checkpoint/checkpoint_repair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "agent/config_source.hpp"
#include "agent/read_node.hpp"
#include "checkpoint/checkpoint_files.hpp"
#include "documents.hpp"
#include "pinfold/audit/observe.hpp"
#include "pinfold/audit/running.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/repair.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/decide/start_advice.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

namespace cp = checkpoint;

struct RepairOptions {
  NodeOptions node;
  std::string container_ids;
  bool dry_run = false;
  bool accepts_loss = false;
  bool is_insecure = false;
  OutputFormat output = OutputFormat::kText;
};

/// The contents of a directory that repair uses.
struct Directory {
  cp::Files files;
  cp::OtherFiles others;
  std::vector<std::string> orphans;  ///< temporary files of a kubelet
  std::string pods_error;            ///< why .pinfold_pods cannot be read; "" if it can
  bool has_journal = false;          ///< a commit was interrupted, or an agent runs
  std::string kernel;                ///< which running containers were read, or why none
};

/// Adds the last contents of each file from a journal that was set aside, if it can be read.
void add_stale_journal(cp::Fs& fs, cp::OtherFiles& others) {
  const auto bytes = fs.read(std::string(cp::kStaleJournalFileName));
  if (!bytes || !*bytes) return;
  const auto records = cp::decode_journal(**bytes);
  if (!records) return;
  cp::Contents contents;
  for (const cp::Record& record : *records) {
    if (!cp::apply_record(record, contents)) break;
  }
  for (auto& [name, text] : contents) {
    others.copies[fmt::format("{} in {}", name, cp::kStaleJournalFileName)] = std::move(text);
  }
}

/// Returns a directory as the node below `root` sees it; "" if it is outside.
std::string path_below(const std::string& root, const std::string& directory) {
  // By names alone: a link below the root may lead elsewhere from here than on the node.
  const auto normal = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::absolute(path, ignored).lexically_normal();
  };
  const std::string path = normal(directory).lexically_relative(normal(root));
  return path.empty() || path.starts_with("..") ? "" : "/" + path;
}

/// Adds the containers that run on the node. Returns how many, or why they cannot be read.
std::string add_running(const NodeOptions& options, cp::OtherFiles& others) {
  if (!options.machine.empty()) {
    return "running containers were not read: the machine is that of a file (--machine)";
  }
  const auto tree = audit::Tree::open(options.sysfs);
  if (!tree) return "running containers were not read: " + tree.error().message;
  const audit::Observed observed =
      audit::observe_containers(*tree, path_below(options.sysfs, options.state_dir));
  if (!observed.cgroups.version) {
    return fmt::format("running containers were not read: no cpusets in '{}'",
                       tree->shown("/sys/fs/cgroup"));
  }
  others.running = audit::running_containers(observed);
  std::string text = fmt::format("{} in '{}'", counted(others.running.size(), "running container"),
                                 tree->shown(observed.cgroups.mount));
  for (const auto& [kind, problem] : observed.problems) text += "; " + problem.message;
  return text;
}

/// Reads a directory. One without state files is valid: a kubelet starts with an empty node.
Result<Directory> read(cp::Fs& fs, const NodeOptions& options) {
  Directory directory;
  directory.kernel = add_running(options, directory.others);
  PINFOLD_LET(directory.files, cp::read_files(fs));
  PINFOLD_LET(const auto names, fs.list());
  directory.has_journal =
      std::find(names.begin(), names.end(), cp::kJournalFileName) != names.end();
  std::size_t room = cp::kMaxStateFileBytes;  // shared, because there may be any number of them
  for (const std::string& name : names) {
    if (!cp::is_orphan_name(name)) continue;
    auto bytes = fs.read(name);
    if (!bytes || !*bytes) continue;
    directory.orphans.push_back(name);
    if ((*bytes)->size() > room) continue;
    room -= (*bytes)->size();
    directory.others.copies[name] = **std::move(bytes);
  }
  add_stale_journal(fs, directory.others);
  auto pods = read_active_pods(directory.files);
  if (!pods) {
    directory.pods_error = std::move(pods).error().message;
    return directory;
  }
  directory.others.pods = specs_of(*pods);
  directory.others.removed = std::move(pods->removed);
  directory.others.baselines = std::move(pods->node.cpu.baselines);
  return directory;
}

/// A file for the old contents of another one.
struct Aside {
  std::string name;
  bool is_written = false;  ///< it already has the contents
};

/// Returns an unused name for the old contents of a file, or the copy that a killed repair left.
Aside aside_of(cp::Fs& fs, const std::string& name, const std::vector<std::string>& taken,
               const std::optional<std::string>& bytes) {
  for (int number = 1;; ++number) {
    std::string aside = fmt::format(".pinfold_before_repair.{}.{}", number, name);
    if (std::find(taken.begin(), taken.end(), aside) == taken.end()) return {std::move(aside)};
    if (!bytes) continue;
    const auto copy = fs.read(aside);
    if (copy && *copy == bytes) return {std::move(aside), true};
  }
}

/// Writes a file completely or not at all.
Result<void> write_aside(cp::Fs& fs, const std::string& bytes, const std::string& aside) {
  const std::string temporary = fmt::format("{}before_repair", cp::kTempPrefix);
  PINFOLD_LET(auto file, fs.create(temporary));
  PINFOLD_TRY(cp::write_all(*file, bytes));
  PINFOLD_TRY(file->sync());
  PINFOLD_TRY(fs.rename(temporary, aside));
  return fs.sync_directory();
}

/// Copies the old files, then commits the new ones in one transaction. A failure changes nothing.
Result<std::vector<cp::Note>> replace(cp::Store& store, cp::Fs& fs, const cp::Repaired& repaired,
                                      const cp::Files& before,
                                      const std::vector<std::string>& taken) {
  std::vector<cp::Note> kept;
  std::vector<std::string> asides;
  const auto replace_all = [&]() -> Result<void> {
    for (const bool is_cpu : {true, false}) {
      const std::string name(is_cpu ? cp::kCpuFileName : cp::kMemoryFileName);
      const auto& old_bytes = is_cpu ? before.cpu : before.memory;
      if (!old_bytes || old_bytes == (is_cpu ? repaired.files.cpu : repaired.files.memory)) {
        continue;
      }
      const Aside aside = aside_of(fs, name, taken, old_bytes);
      if (!aside.is_written) {
        asides.push_back(aside.name);
        PINFOLD_TRY(write_aside(fs, *old_bytes, aside.name));
      }
      kept.push_back({name, "the old file is kept as " + aside.name});
    }
    PINFOLD_TRY(store.commit({repaired.files.cpu, repaired.files.memory, {}}));
    note_change();
    return {};
  };
  if (auto done = changing(replace_all); !done) {
    for (const std::string& aside : asides) (void)fs.remove(aside);
    return fail(std::move(done).error());
  }
  PINFOLD_TRY_WRAP(store.checkpoint_and_remove_journal(), only_in_journal());
  return kept;
}

/// Replaces the state files, and renames files that are no longer needed.
Result<std::vector<cp::Note>> write(cp::Store& store, cp::Fs& fs, const cp::Repaired& repaired,
                                    const Directory& directory) {
  PINFOLD_LET(const auto taken, fs.list());
  PINFOLD_LET(auto kept, replace(store, fs, repaired, directory.files, taken));
  const auto set_aside = [&](const std::string& name, const std::string& to, const char* what) {
    const std::string aside = aside_of(fs, to, taken, std::nullopt).name;
    const auto renamed = fs.rename(name, aside);
    kept.push_back({name, renamed ? fmt::format("{}, now {}", what, aside)
                                  : fmt::format("{}; {}", what, renamed.error().message)});
  };
  for (const std::string& name : directory.orphans) {
    set_aside(name, name.substr(1), "unused temporary file");
  }
  if (!directory.pods_error.empty()) {
    set_aside(std::string(cp::kPodsFileName), std::string(cp::kPodsFileName.substr(1)),
              "cannot be read");
  }
  return kept;
}

struct RepairOutcome {
  cp::Repaired repaired;
  std::vector<cp::Note> kept;
  std::string kernel;      ///< see Directory; "": no file is damaged
  std::string validation;  ///< by the kubelet's start-up: see describe_passed, or "fails: ..."
  bool starts = false;
  bool needed = false;   ///< there is something to write
  bool allowed = false;  ///< the kubelet starts from it, and losses are accepted or there are none
  bool written = false;
};

/// What the directory is repaired for.
struct RepairTarget {
  const Node& node;
  std::string passed;  ///< see describe_passed
};

RepairTarget target_of(const Node& node, NodeConfig config) {
  config.config.feature_gates.merge(config.unknown_gates);
  return {node, describe_passed(config.config)};
}

RepairOutcome evaluate(const RepairOptions& options, const RepairTarget& target,
                       const cp::ContainerIds& ids, const Directory& directory) {
  const Node& node = target.node;
  RepairOutcome outcome;
  const auto& [files, others, orphans, pods_error, has_journal, kernel] = directory;
  outcome.repaired = cp::repair(node, {files.cpu, files.memory}, ids, others);
  if (outcome.repaired.has_damage) outcome.kernel = kernel;
  if (has_journal) {
    outcome.repaired.done.push_back(
        {std::string(cp::kJournalFileName), "a commit was interrupted: completed"});
  }
  if (!pods_error.empty()) {
    outcome.repaired.lost.push_back(
        {std::string(cp::kPodsFileName),
         fmt::format("cannot be read ({}): its pods are unknown", pods_error)});
  }
  for (cp::Note& note : cp::pods_without_room(node, others.pods)) {
    outcome.repaired.lost.push_back(std::move(note));
  }
  const auto started = cp::would_start(node, outcome.repaired.files, ids);
  outcome.starts = started.has_value();
  outcome.validation =
      started ? target.passed : "fails: " + cp::cause_of(started.error(), outcome.repaired.files);
  if (!started && started.error().stage == StartStage::kNodeAllocatable) {
    const auto advice = advise_start(node.machine(), node.config(), started.error());
    if (advice) outcome.validation += "; " + to_string(*advice);
  }
  const cp::KubeletFiles before{files.cpu, files.memory};
  outcome.needed =
      outcome.repaired.files != before || !orphans.empty() || !pods_error.empty() || has_journal;
  outcome.allowed = outcome.starts && (outcome.repaired.lost.empty() || options.accepts_loss);
  return outcome;
}

std::string_view why_not_written(const RepairOptions& options, const RepairOutcome& outcome) {
  if (!outcome.starts) return "";
  if (!outcome.allowed) return ": something would be lost (--accept-loss writes anyway)";
  return options.dry_run ? " (--dry-run)" : "";
}

std::vector<cp::Note> read_back_notes(const std::vector<cp::ReadBack>& read_back) {
  std::vector<cp::Note> notes;
  notes.reserve(read_back.size());
  for (const auto& [object, resource, text, source] : read_back) {
    notes.push_back({object, fmt::format("{}, from '{}'", text, source)});
  }
  return notes;
}

void print(const RepairOptions& options, const RepairOutcome& outcome) {
  const cp::Repaired& repaired = outcome.repaired;
  if (options.output == OutputFormat::kJson) {
    fmt::print("{}", json_text(RepairDocument{repaired.done, repaired.read_back, repaired.lost,
                                              outcome.kept, outcome.kernel, outcome.written,
                                              outcome.starts, outcome.validation}));
    return;
  }
  print_notes("repaired", repaired.done);
  print_notes("read back from the kernel", read_back_notes(repaired.read_back));
  print_notes("could not be saved", repaired.lost);
  print_notes("kept aside", outcome.kept);
  if (!outcome.kernel.empty()) fmt::print("kernel: {}\n", escaped(outcome.kernel));
  if (!outcome.needed) fmt::print("nothing to repair\n");
  fmt::print("start-up validation: {}\n", escaped(outcome.validation));
  if (outcome.needed && !outcome.written) {
    fmt::print("nothing written{}\n", why_not_written(options, outcome));
  }
}

std::string policy_of(const std::optional<std::string>& file, bool is_cpu) {
  if (!file) return "";
  if (is_cpu) {
    const auto cpu = cp::inspect_cpu_unchecked(cp::readable_part(*file));
    return cpu ? cpu->policy : "";
  }
  const auto memory = cp::inspect_memory_unchecked(cp::readable_part(*file));
  return memory ? memory->policy : "";
}

/// A configuration without a policy, which a flag of the kubelet may set, is no reason to change
/// that of a file. Without any configuration the kubelet's defaults apply.
Result<void> check_policy(const RepairOptions& options, const NodeConfig& config,
                          const cp::Files& files) {
  const bool is_given = !lacks_config(options.node);
  const auto& open = config.unset_policies;
  for (const bool is_cpu : {true, false}) {
    const char* const field = is_cpu ? "cpuManagerPolicy" : "memoryManagerPolicy";
    const bool is_open = !is_given || std::find(open.begin(), open.end(), field) != open.end();
    const std::string found = policy_of(is_cpu ? files.cpu : files.memory, is_cpu);
    const std::string& expected =
        is_cpu ? config.config.cpu_manager_policy : config.config.memory_manager_policy;
    if (!is_open || found.empty() || found == expected) continue;
    const std::string why =
        is_given
            ? fmt::format("the configuration has no {}, which a flag of the kubelet may set", field)
            : "no configuration is given";
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}/{}' has the policy '{}', and {}: name the kubelet's with --config, "
                    "'/' for the kubelet of this node with its flags, or write '{}: {}'",
                    options.node.state_dir, is_cpu ? cp::kCpuFileName : cp::kMemoryFileName,
                    printable(found), why, field, expected));
  }
  return {};
}

/// What a repair works on.
struct RepairInput {
  std::unique_ptr<cp::Fs> fs;
  NodeConfig config;
  Node node;
  cp::ContainerIds ids;
  Directory directory;
};

Result<RepairInput> read_for_repair(const RepairOptions& options) {
  PINFOLD_LET(auto fs, open_files_directory(options.node.state_dir));
  NodeOptions read_as = options.node;
  read_as.insecure_state_dir = options.is_insecure || options.dry_run;
  PINFOLD_LET(auto config, read_config(read_as));
  PINFOLD_LET(auto node, make_node(options.node, config.config));
  PINFOLD_LET(auto ids, read_container_ids(options.container_ids));
  PINFOLD_LET(auto directory, read(*fs, options.node));
  PINFOLD_TRY(check_policy(options, config, directory.files));
  return RepairInput{std::move(fs), std::move(config), std::move(node), std::move(ids),
                     std::move(directory)};
}

Result<ExitStatus> run(const RepairOptions& options) {
  PINFOLD_LET(auto input, read_for_repair(options));
  Directory& directory = input.directory;
  const RepairTarget target = target_of(input.node, input.config);
  RepairOutcome outcome = evaluate(options, target, input.ids, directory);
  if (outcome.needed && outcome.allowed && !options.dry_run) {
    // Completes an interrupted commit, and locks out other writers until the end.
    PINFOLD_LET(auto store,
                cp::Store::open(options.node.state_dir, {}, cp::owner_check(options.is_insecure)));
    const bool had_journal = directory.has_journal;
    PINFOLD_LET(directory, read(*input.fs, options.node));
    directory.has_journal = had_journal;
    outcome = evaluate(options, target, input.ids, directory);
    if (outcome.needed && outcome.allowed) {
      PINFOLD_LET(outcome.kept, write(store, *input.fs, outcome.repaired, directory));
      outcome.written = true;
    }
  }
  print(options, outcome);
  return outcome.allowed ? kYes : kNo;
}

}  // namespace

Result<RepairPreview> preview_repair(const NodeOptions& node) {
  RepairOptions options;
  options.node = node;
  options.dry_run = true;
  PINFOLD_LET(const auto input, read_for_repair(options));
  RepairOutcome outcome =
      evaluate(options, target_of(input.node, input.config), input.ids, input.directory);
  return RepairPreview{outcome.starts, std::move(outcome.repaired.lost)};
}

cli::Command checkpoint_repair_command() {
  auto options = std::make_shared<RepairOptions>();
  options->node.state_dir.clear();  // passed as the argument
  cli::Command command{
      "repair",
      "Repair state files that a kubelet refuses to load; keeps every assignment "
      "that can be saved, including from the control groups of running "
      "containers, and keeps a copy of the old files. Writes nothing and exits with status 1 if "
      "something would be lost, unless --accept-loss is given"};
  command.add({{.name = "DIRECTORY",
                .target = &options->node.state_dir,
                .help = "Directory with state files",
                .required = true},
               {"--dry-run", &options->dry_run, "Print what would be done, write nothing"},
               {"--accept-loss", &options->accepts_loss, "Write even if something is lost"},
               insecure_state_dir_option(options->is_insecure),
               container_ids_option(options->container_ids)});
  command.add(node_options(options->node));
  command.add({output_option(options->output)});
  command.sections = {{"Examples",
                       {{"pinfold checkpoint repair /var/lib/kubelet --dry-run",
                         "Print what is wrong, write nothing"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
