#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "checkpoint_files.hpp"
#include "commands.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/kubelet.hpp"
#include "pinfold/text/message.hpp"
#include "text.hpp"

namespace pinfold::tools {
namespace {

using checkpoint::Inspected;
using nlohmann::json;

struct ShowOptions {
  std::vector<std::string> paths;
  std::string policy;  ///< "": the policy in the file
  std::string gate = "any";
  std::string kubelet = "any";
  std::string container_ids;
  OutputFormat format = OutputFormat::kText;
};

// ---- show --------------------------------------------------------------------------------------

std::string list(const std::vector<std::int32_t>& ids) {
  return fmt::format("{}", fmt::join(ids, ","));
}

std::string blocks_text(const std::vector<MemoryBlock>& blocks) {
  std::string text;
  for (const MemoryBlock& block : blocks) {
    text += fmt::format("{}{} {} on {}", text.empty() ? "" : ", ", block.type,
                        human_bytes(block.size), list(block.numa_affinity));
  }
  return text;
}

std::string text_of(const CpuCheckpoint& state) {
  TextTable table({{"POD", TextTable::Align::kLeft},
                   {"CONTAINER", TextTable::Align::kLeft},
                   {"CPUS", TextTable::Align::kLeft}});
  for (const auto& [pod, container, cpus] : state.assignments) {
    table.add({pod.value, container, cpus.to_string()});
  }
  for (const auto& [pod, cpus] : state.pods) table.add({pod.value, "(the pod)", cpus.to_string()});
  return fmt::format("  shared pool: {}\n{}",
                     state.default_set.empty() ? "none" : state.default_set.to_string(),
                     table.empty() ? "" : table.render(terminal_style(), 2));
}

std::string text_of(const MemoryCheckpoint& state) {
  const Style style = terminal_style();
  TextTable nodes({{"NUMA NODE", TextTable::Align::kRight},
                   {"GROUP", TextTable::Align::kLeft},
                   {"RESOURCE", TextTable::Align::kLeft},
                   {"ALLOCATABLE", TextTable::Align::kRight},
                   {"RESERVED", TextTable::Align::kRight},
                   {"FREE", TextTable::Align::kRight}});
  for (const auto& [id, node] : state.machine_state) {
    for (const auto& [resource, memory] : node.tables) {
      if (memory.total == 0) continue;
      nodes.add({std::to_string(id), list(node.cells), resource, human_bytes(memory.allocatable),
                 human_bytes(memory.reserved), human_bytes(memory.free)});
    }
  }
  TextTable table({{"POD", TextTable::Align::kLeft},
                   {"CONTAINER", TextTable::Align::kLeft},
                   {"MEMORY", TextTable::Align::kLeft}});
  for (const auto& [pod, container, blocks] : state.assignments) {
    table.add({pod.value, container, blocks_text(blocks)});
  }
  for (const auto& [pod, blocks] : state.pods)
    table.add({pod.value, "(the pod)", blocks_text(blocks)});
  return (nodes.empty() ? "" : nodes.render(style, 2)) +
         (table.empty() ? "" : table.render(style, 2));
}

/// The kubelet's format without the checksum.
json json_of(const CpuCheckpoint& state, const std::string& policy) {
  json out = json::parse(encode_cpu(state, policy, checkpoint::CpuFormat::kV3));
  out.erase("checksum");
  return out;
}
json json_of(const MemoryCheckpoint& state, const std::string& policy) {
  json out = json::parse(encode_memory(state, policy, checkpoint::MemoryFormat::kV2));
  out.erase("checksum");
  return out;
}

template <class State>
ExitStatus show_state(const StateFile& file, const Result<Inspected<State>>& inspected,
                      OutputFormat format) {
  if (!inspected) {
    return report(Error(inspected.error()).wrap(fmt::format("'{}'", file.path)));
  }
  if (format == OutputFormat::kJson) {
    json out = json_of(inspected->state, inspected->policy);
    out["file"] = file.path;
    out["kind"] = file.is_cpu ? "cpu" : "memory";
    out["version"] = inspected->version;
    fmt::print("{}\n", out.dump());
    return kYes;
  }
  fmt::print("{}: {} V{}, policy {}\n{}", escaped(file.path), file.is_cpu ? "CPU" : "memory",
             inspected->version, escaped(inspected->policy), text_of(inspected->state));
  return kYes;
}

Result<ExitStatus> show(const ShowOptions& options) {
  PINFOLD_LET(const auto files, read_files(options.paths));
  ExitStatus status = kYes;
  for (const StateFile& file : files) {
    const ExitStatus shown =
        file.is_cpu ? show_state(file, checkpoint::inspect_cpu(file.bytes), options.format)
                    : show_state(file, checkpoint::inspect_memory(file.bytes), options.format);
    status = std::max(status, shown);
  }
  return status;
}

// ---- verify ------------------------------------------------------------------------------------

struct Verdict {
  std::string kubelet;
  bool gate;
  std::string error;  ///< "": loads it
};

/// What a kubelet says to a file.
std::string verdict_of(const StateFile& file, const std::optional<std::string>& policy,
                       const checkpoint::ContainerIds& ids, const checkpoint::Kubelet& kubelet) {
  if (file.is_cpu) return checkpoint::read_cpu(file.bytes, kubelet, policy, ids).error;
  const auto reading = checkpoint::read_memory(file.bytes, kubelet, policy);
  return reading.reads() ? reading.start_error : reading.error;
}

std::vector<Verdict> verdicts(const StateFile& file, const checkpoint::ContainerIds& ids,
                              const ShowOptions& options) {
  std::optional<std::string> policy;
  if (!options.policy.empty()) policy = options.policy;
  std::vector<Verdict> out;
  for (const bool gate : {false, true}) {
    if (options.gate != "any" && (options.gate == "on") != gate) continue;
    for (const bool newest : {false, true}) {
      const std::string kubelet = newest ? "1.37" : "1.36";
      if (options.kubelet != "any" && options.kubelet != kubelet) continue;
      out.push_back({kubelet, gate, verdict_of(file, policy, ids, {newest ? 37 : 36, gate})});
    }
  }
  return out;
}

std::vector<checkpoint::WrongSum> wrong_sums(const StateFile& file) {
  return file.is_cpu ? checkpoint::wrong_cpu_sums(file.bytes)
                     : checkpoint::wrong_memory_sums(file.bytes);
}

json sums_json(const std::vector<checkpoint::WrongSum>& sums) {
  json out = json::array();
  for (const auto& [field, found, computed] : sums) {
    out.push_back({{"field", field}, {"found", found}, {"computed", computed}});
  }
  return out;
}

/// The part of a message that gives the reason.
std::string reason(const std::string& error) {
  constexpr std::string_view kHead = "could not restore state from checkpoint: ";
  const std::size_t start = error.starts_with(kHead) ? kHead.size() : 0;
  return error.substr(start, error.rfind(", please drain this node") - start);
}

Result<ExitStatus> verify(const ShowOptions& options) {
  PINFOLD_LET(const auto files, read_files(options.paths));
  PINFOLD_LET(const auto ids, read_container_ids(options.container_ids));
  ExitStatus status = kYes;
  json lines = json::array();
  for (const StateFile& file : files) {
    bool readable = false;
    const auto sums = wrong_sums(file);
    TextTable table({{"KUBELET", TextTable::Align::kLeft},
                     {"PodLevelResourceManagers", TextTable::Align::kLeft},
                     {"LOADS IT", TextTable::Align::kLeft}});
    for (const Verdict& verdict : verdicts(file, ids, options)) {
      readable = readable || verdict.error.empty();
      const std::string gate = verdict.gate ? "on" : "off";
      table.add(
          {verdict.kubelet, gate, verdict.error.empty() ? "yes" : "no: " + reason(verdict.error)});
      lines.push_back({{"file", file.path},
                       {"kubelet", verdict.kubelet},
                       {"podLevelResourceManagers", verdict.gate},
                       {"reads", verdict.error.empty()},
                       {"error", verdict.error},
                       {"wrongChecksums", sums_json(sums)}});
    }
    if (!readable) status = kNo;
    if (options.format == OutputFormat::kText) {
      fmt::print("{}: {}\n{}", escaped(file.path), readable ? "valid" : "no kubelet loads it",
                 table.render(terminal_style(), 2));
      for (const auto& [field, found, computed] : sums) {
        fmt::print("  wrong {}: {} in the file, {} computed\n", field, found, computed);
      }
    }
  }
  if (options.format == OutputFormat::kJson) fmt::print("{}\n", lines.dump());
  return status;
}

cli::Option path_option(ShowOptions& options) {
  return {.name = "path",
          .target = &options.paths,
          .help = "State files, or directories with state files",
          .required = true};
}

cli::Command show_command() {
  auto options = std::make_shared<ShowOptions>();
  cli::Command command{"show", "Print the contents of state files"};
  command.add({path_option(*options), output_option(options->format)});
  command.run = [options] { return exit_status(show(*options)); };
  return command;
}

cli::Command verify_command() {
  auto options = std::make_shared<ShowOptions>();
  cli::Command command{
      "verify",
      "Check which kubelets load state files; exit status 1 if none does. Does not "
      "compare with a machine: 'repair --dry-run' does"};
  command.add(
      {path_option(*options),
       output_option(options->format),
       container_ids_option(options->container_ids),
       {"--policy", &options->policy, "Configured policy [the policy in the file]", "NAME"},
       {"--kubelet", cli::one_of(options->kubelet, {"1.36", "1.37", "any"}), "Kubelet version"},
       {"--pod-level-resource-managers", cli::one_of(options->gate, {"on", "off", "any"}),
        "Setting of the feature gate PodLevelResourceManagers"}});
  command.run = [options] { return exit_status(verify(*options)); };
  return command;
}

}  // namespace

cli::Command checkpoint_command() {
  return {.name = "checkpoint",
          .help = "Inspect, compare, convert and repair the kubelet's state files",
          .commands = {show_command(), checkpoint_convert_command(), checkpoint_diff_command(),
                       checkpoint_repair_command(), verify_command()}};
}

}  // namespace pinfold::tools
