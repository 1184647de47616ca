#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "agent/agent_session.hpp"
#include "agent/config_source.hpp"
#include "checkpoint/checkpoint_files.hpp"
#include "checkpoint/checkpoint_verdicts.hpp"
#include "documents.hpp"
#include "pinfold/decide/feature_gates.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

struct ConvertOptions {
  NodeOptions node;
  std::string from;
  std::string to;
  std::string gate = "any";
  std::string out;
  std::string container_ids;
  bool dry_run = false;
  bool is_insecure = false;
  OutputFormat output = OutputFormat::kText;
};

/// Whether the kubelet starts from the converted files.
struct KubeletStart {
  bool is_known = false;   ///< its configuration is known
  std::string problem;     ///< why it does not start; "" if it does
  std::string validation;  ///< "passes", ...
  std::vector<checkpoint::Note> rejected;

  [[nodiscard]] bool is_ok() const { return problem.empty() && rejected.empty(); }
};

constexpr const char* kGate = "PodLevelResourceManagers";

/// Reads the configuration of the kubelet that starts from the files; nullopt if there is none.
Result<std::optional<Config>> read_kubelet_config(const NodeOptions& node) {
  if (lacks_config(node)) {
    return std::optional<Config>();
  }
  PINFOLD_LET(auto read, read_config(node));
  read.config.feature_gates.merge(read.unknown_gates);  // the other kubelet may know them
  return std::optional<Config>(std::move(read.config));
}

/// The kubelet and formats to convert to.
struct ConversionTarget {
  checkpoint::Kubelet kubelet;
  checkpoint::Formats formats;
};

/// Finds the kubelet with the version `name`, if possible with this setting of the gate.
std::optional<checkpoint::Kubelet> find_kubelet(const std::string& name, bool gate) {
  std::optional<checkpoint::Kubelet> found;
  for (const auto& known : checkpoint::kubelets()) {
    if (version_of(known.kubelet) != minor_version(name)) continue;
    if (!found || known.kubelet.pod_level_gate == gate) found = known.kubelet;
  }
  return found;
}

/// Parses the target. The gate comes from the option, else from the configuration, else from `to`.
Result<ConversionTarget> parse_target(const ConvertOptions& options,
                                      const std::optional<Config>& config) {
  std::optional<bool> gate;
  if (options.gate != "any") {
    gate = options.gate == "on";
  } else if (config) {
    gate = config->set_gate(kGate, false);
  }
  ConversionTarget target;
  if (const auto kubelet = find_kubelet(options.to, gate.value_or(false))) {
    target = {*kubelet, checkpoint::formats_of(*kubelet).writes};
  } else {
    const auto formats = checkpoint::parse_formats(options.to);
    if (!formats) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("--to '{}': expected a kubelet version, 1.35 to 1.38, or a format: "
                              "cpu-v1 to cpu-v4, memory-v1 to memory-v3",
                              options.to));
    }
    // Each format before CPU V4 implies one setting of the gate.
    target.kubelet = formats->cpu < 4 ? checkpoint::Kubelet{36, formats->cpu == 3}
                                      : checkpoint::Kubelet{37, gate.value_or(true)};
    target.formats = *formats;
  }
  if (options.gate == "any" || target.kubelet.pod_level_gate == *gate) return target;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--pod-level-resource-managers {}: --to {} does not have this gate",
                          options.gate, options.to));
}

Result<KubeletStart> try_start(const ConvertOptions& options, std::optional<Config> config,
                               const ConversionTarget& to, const checkpoint::KubeletFiles& files,
                               const checkpoint::ContainerIds& ids,
                               const std::vector<PodSpec>& pods) {
  KubeletStart start;
  if (!config) return start;
  start.is_known = true;
  config->feature_gates[kGate] = to.kubelet.pod_level_gate;
  if (options.node.profile.empty()) config->profile = checkpoint::profile_of(to.kubelet);
  start.validation = describe_passed(*config);
  const Config known = without_unknown_gates(*std::move(config));
  PINFOLD_LET(const auto node, make_node(options.node, known));
  const auto started = checkpoint::would_start_as(to.kubelet, node, files, ids);
  if (!started) {
    start.problem = checkpoint::cause_of(started.error(), files);
    start.validation = "fails: " + start.problem;
  }
  start.rejected = checkpoint::pods_without_room(node, pods);
  return start;
}

/// Checks that a directory has no state files.
Result<void> check_target(const std::string& directory) {
  if (!std::filesystem::exists(directory)) return {};
  PINFOLD_LET(const auto fs, checkpoint::open_directory(directory));
  PINFOLD_LET(const auto before, checkpoint::read_files(*fs));
  if (!before.cpu && !before.memory && !before.pods) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--out '{}': already has state files, expected a directory without any",
                          directory));
}

Result<void> write(const std::string& directory, const checkpoint::Files& files,
                   checkpoint::OwnerCheck owners) {
  PINFOLD_TRY(check_target(directory));
  PINFOLD_TRY(checkpoint::make_state_directory(directory));
  PINFOLD_LET(auto store, checkpoint::Store::open(directory, {}, owners));
  PINFOLD_TRY(check_target(directory));  // again, now that other processes are locked out
  PINFOLD_TRY(changing([&] { return store.commit(files); }));
  note_change();
  PINFOLD_TRY_WRAP(store.checkpoint_and_remove_journal(), only_in_journal());
  return {};
}

void print(const ConvertOptions& options, const ConversionTarget& to,
           const checkpoint::Conversion& converted, const KubeletStart& start) {
  if (options.output == OutputFormat::kJson) {
    ConvertDocument document{converted.kept,   converted.lost, start.rejected,
                             !options.dry_run, std::nullopt,   start.problem};
    if (start.is_known) document.starts = start.problem.empty();
    fmt::print("{}", json_text(document));
    return;
  }
  print_notes("kept", converted.kept);
  print_notes(fmt::format("lost with kubelet {}", to_string(to.kubelet)), converted.lost);
  print_notes("rejected by that kubelet", start.rejected);
  fmt::print(
      "start-up validation of that kubelet: {}\n",
      start.is_known ? escaped(start.validation) : "not run, no configuration given (--config)");
  fmt::print("{}\n", options.dry_run ? "nothing written (--dry-run)"
                                     : fmt::format("written to {}", escaped(options.out)));
}

Result<ExitStatus> run(ConvertOptions options) {
  options.node.state_dir = options.from;
  options.node.insecure_state_dir = true;  // the input is only copied
  PINFOLD_LET(const auto files, read_directory(options.from));
  PINFOLD_LET(auto pods, read_active_pods(files));
  PINFOLD_LET(const auto ids, read_container_ids(options.container_ids));
  PINFOLD_LET(const auto config, read_kubelet_config(options.node));
  PINFOLD_LET(const auto to, parse_target(options, config));
  const checkpoint::KubeletFiles before = {files.cpu, files.memory};
  const checkpoint::KnownBaselines known = {
      std::move(pods.node.cpu.baselines),
      config && config->set_gate("InPlacePodVerticalScalingExclusiveCPUs", false).value_or(false)};
  PINFOLD_LET_WRAP(const auto converted,
                   to.formats.cpu == 1 ? checkpoint::convert(before, to.formats, ids)
                                       : checkpoint::convert_for(to.kubelet, before, ids, known),
                   fmt::format("'{}'", options.from));
  PINFOLD_LET(const auto start,
              try_start(options, config, to, converted.files, ids, specs_of(pods)));
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
      "that kubelet would not start from them, or would reject one of their pods"};
  command.add(
      {{.name = "DIRECTORY",
        .target = &options->from,
        .help = "Directory with state files",
        .required = true},
       {.name = "--to",
        .target = &options->to,
        .help = "Version of the kubelet that will read the files, 1.35 to 1.38; or a format, "
                "cpu-v1 to cpu-v4 or memory-v1 to memory-v3: the other file gets the format of "
                "the same kubelet",
        .value = "VERSION",
        .required = true,
        .suggestions = {"cpu-v1", "cpu-v2", "cpu-v3", "cpu-v4", "memory-v1", "memory-v2",
                        "memory-v3", "1.35", "1.36", "1.37", "1.38"}},
       {"--pod-level-resource-managers", cli::one_of(options->gate, {"on", "off", "any"}),
        "Feature gate PodLevelResourceManagers of that kubelet [as in its configuration, else "
        "off]"},
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
  command.sections = {{"Examples",
                       {{"pinfold checkpoint convert /var/lib/kubelet --to 1.36 --out older",
                         "Write files that kubelet 1.36 can load"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
