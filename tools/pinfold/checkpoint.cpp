#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "checkpoint_files.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "text.hpp"

namespace pinfold::tools {
namespace {

using checkpoint::Inspected;
using nlohmann::json;

struct Options {
  std::vector<std::string> paths;
  std::string policy;  ///< "": that of the file
  std::string gate = "any";
  std::string kubelet = "any";
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

/// The kubelet's own form, without checksums.
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
int show_state(const StateFile& file, const Result<Inspected<State>>& seen, OutputFormat format) {
  if (!seen) {
    return report(Error(seen.error()).wrap(fmt::format("'{}'", file.path)));
  }
  if (format == OutputFormat::kJson) {
    json out = json_of(seen->state, seen->policy);
    out["file"] = file.path;
    out["kind"] = file.is_cpu ? "cpu" : "memory";
    out["version"] = seen->version;
    fmt::print("{}\n", out.dump());
    return kYes;
  }
  fmt::print("{}: {} V{}, policy {}\n{}", file.path, file.is_cpu ? "CPU" : "memory", seen->version,
             seen->policy, text_of(seen->state));
  return kYes;
}

int show(const Options& options) {
  const auto files = read_files(options.paths);
  if (!files) return report(files.error());
  int status = kYes;
  for (const StateFile& file : *files) {
    const int shown =
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
  std::string error;  ///< "": reads it
};

std::vector<Verdict> verdicts(const StateFile& file, const Options& options) {
  const json content = json::parse(file.bytes, nullptr, false);
  std::string policy = options.policy;
  if (policy.empty() && content.is_object() && content.contains("policyName") &&
      content["policyName"].is_string()) {
    policy = content["policyName"];
  }
  const auto error = [](const auto& state) { return state ? "" : state.error().message; };
  std::vector<Verdict> out;
  const std::string_view bytes = file.bytes;
  for (const bool gate : {false, true}) {
    if (options.gate != "any" && (options.gate == "on") != gate) continue;
    if (options.kubelet != "1.37") {
      out.push_back({"1.36", gate,
                     file.is_cpu ? error(checkpoint::restore_cpu(bytes, policy, gate, {}))
                                 : error(checkpoint::restore_memory(bytes, policy, gate))});
    }
    if (options.kubelet != "1.36") {
      out.push_back({"1.37", gate,
                     file.is_cpu ? error(checkpoint::restore_cpu_v4(bytes, policy, gate))
                                 : error(checkpoint::restore_memory_v3(bytes, policy, gate))});
    }
  }
  return out;
}

/// Without the frame that is the same around every reason.
std::string reason(const std::string& error) {
  constexpr std::string_view kHead = "could not restore state from checkpoint: ";
  const std::size_t start = error.starts_with(kHead) ? kHead.size() : 0;
  return error.substr(start, error.rfind(", please drain this node") - start);
}

int verify(const Options& options) {
  const auto files = read_files(options.paths);
  if (!files) return report(files.error());
  int status = kYes;
  json lines = json::array();
  for (const StateFile& file : *files) {
    bool readable = false;
    TextTable table({{"KUBELET", TextTable::Align::kLeft},
                     {"PodLevelResourceManagers", TextTable::Align::kLeft},
                     {"READS IT", TextTable::Align::kLeft}});
    for (const Verdict& verdict : verdicts(file, options)) {
      readable = readable || verdict.error.empty();
      const std::string gate = verdict.gate ? "on" : "off";
      table.add(
          {verdict.kubelet, gate, verdict.error.empty() ? "yes" : "no: " + reason(verdict.error)});
      lines.push_back({{"file", file.path},
                       {"kubelet", verdict.kubelet},
                       {"podLevelResourceManagers", verdict.gate},
                       {"reads", verdict.error.empty()},
                       {"error", verdict.error}});
    }
    if (!readable) status = kNo;
    if (options.format == OutputFormat::kText) {
      fmt::print("{}: {}\n{}", file.path, readable ? "sound" : "no kubelet reads it",
                 table.render(terminal_style(), 2));
    }
  }
  if (options.format == OutputFormat::kJson) fmt::print("{}\n", lines.dump());
  return status;
}

}  // namespace

void add_checkpoint(CLI::App& app, int& exit_status) {
  CLI::App* const group = app.add_subcommand("checkpoint", "The kubelet's state files");
  group->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, int (*run)(const Options&)) {
    auto options = std::make_shared<Options>();
    CLI::App* const command = group->add_subcommand(name, help);
    command->add_option("path", options->paths, "State files, or directories that hold them")
        ->required();
    add_output_option(*command, options->format);
    command->callback([options, run, &exit_status] { exit_status = run(*options); });
    return std::pair(command, options);
  };
  add("show", "Print what state files hold", show);
  add_checkpoint_convert(*group, exit_status);
  add_checkpoint_diff(*group, exit_status);
  add_checkpoint_repair(*group, exit_status);
  const auto [command, options] = add(
      "verify", "Tell which kubelet would read state files; exit status 1 if none would", verify);
  command->add_option("--policy", options->policy,
                      "The configured policy (default: that of the file)");
  command->add_option("--kubelet", options->kubelet, "Its version: 1.36, 1.37 or any")
      ->check(CLI::IsMember({"1.36", "1.37", "any"}))
      ->default_str("any");
  command
      ->add_option("--pod-level-resource-managers", options->gate,
                   "The feature gate of the kubelet: on, off or any")
      ->check(CLI::IsMember({"on", "off", "any"}))
      ->default_str("any");
}

}  // namespace pinfold::tools
