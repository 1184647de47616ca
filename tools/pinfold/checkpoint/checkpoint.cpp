#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "checkpoint/checkpoint_files.hpp"
#include "checkpoint/checkpoint_verdicts.hpp"
#include "commands.hpp"
#include "input.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/text/kubelet_words.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/types/amount_text.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::tools {
namespace {

using checkpoint::Inspected;
using nlohmann::json;

struct ShowOptions {
  std::vector<std::string> paths;
  std::string container_ids;
  OutputFormat format = OutputFormat::kText;
};

std::string list(const std::vector<std::int32_t>& ids) {
  return fmt::format("{}", fmt::join(ids, ","));
}

std::string blocks_text(const std::vector<MemoryBlock>& blocks) {
  std::string text;
  for (const MemoryBlock& block : blocks) {
    text += fmt::format("{}{} {} on {}", text.empty() ? "" : ", ", block.type,
                        exact_bytes(block.size), list(block.numa_affinity));
  }
  return text;
}

std::string text_of(const CpuCheckpoint& state) {
  const bool has_baselines = !state.baselines.empty();
  std::vector<TextTable::Column> columns = {{"POD"}, {"CONTAINER"}, {"CPUS"}};
  if (has_baselines) columns.push_back({"OF ITS ADMISSION"});
  TextTable table(columns);
  const auto add = [&](const std::string& pod, const std::string& container, const CpuSet& cpus,
                       const CpuSet* baseline) {
    std::vector<std::string> row = {pod, container, cpus.to_string()};
    if (has_baselines) row.push_back(baseline == nullptr ? "" : baseline->to_string());
    table.add(row);
  };
  for (const auto& entry : state.assignments) {
    add(entry.pod.value, entry.name, entry.value, state.baselines.find(entry.id()));
  }
  for (const auto& [pod, cpus] : state.pods) add(pod.value, "(the pod)", cpus, nullptr);
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
                   {"HELD", TextTable::Align::kRight},
                   {"FREE", TextTable::Align::kRight}});
  for (const auto& [id, node] : state.machine_state) {
    for (const auto& [resource, memory] : node.tables) {
      if (memory.total == 0) continue;
      nodes.add({std::to_string(id), list(node.cells), resource, exact_bytes(memory.allocatable),
                 exact_bytes(memory.reserved), exact_bytes(memory.free)});
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

/// Returns the state in the kubelet's format, without the checksum; with baselines as in CPU V4.
json json_of(const CpuCheckpoint& state, const std::string& policy) {
  json out = json::parse(encode_cpu(state, policy, checkpoint::CpuFormat::kV3));
  out.erase("checksum");
  for (const auto& [pod, name, cpus] : state.baselines) {
    out["baselines"][pod.value][name] = cpus.to_string();
  }
  return out;
}
json json_of(const MemoryCheckpoint& state, const std::string& policy) {
  json out = json::parse(encode_memory(state, policy, checkpoint::MemoryFormat::kV2));
  out.erase("checksum");
  return out;
}

/// Returns the first few names of lost items.
std::string names_of(const std::vector<checkpoint::Difference>& lost) {
  std::vector<std::string> names;
  names.reserve(lost.size());
  for (const auto& difference : lost) names.push_back(escaped(difference.object));
  return some_named(std::move(names), 3);
}

std::string text_of(const std::vector<KubeletReading>& verdicts) {
  TextTable table({{"KUBELET", TextTable::Align::kLeft},
                   {"PodLevelResourceManagers", TextTable::Align::kLeft},
                   {"WRITES IT", TextTable::Align::kLeft},
                   {"STARTS FROM IT", TextTable::Align::kLeft},
                   {"LOSES", TextTable::Align::kLeft}});
  for (const KubeletReading& verdict : verdicts) {
    table.add({version_of(verdict.kubelet), verdict.kubelet.pod_level_gate ? "on" : "off",
               verdict.writes ? "yes" : "no", verdict.starts() ? "yes" : "no",
               verdict.starts() ? names_of(verdict.lost) : ""});
  }
  return table.render(terminal_style(), 2);
}

/// Returns a file without a checksum that is not a number, which nothing else in it depends on.
std::string without_text_as_sum(const std::string& bytes) {
  auto file = nlohmann::ordered_json::parse(bytes, nullptr, false);
  const bool has_other = file.is_object() && file.contains("checksum") &&
                         !file["checksum"].is_number() && file.erase("checksum") > 0;
  return has_other ? file.dump(-1, ' ', false, json::error_handler_t::replace) : bytes;
}

/// Reads a file, even if its checksum is wrong or only a part of it is readable.
template <class State>
Result<Inspected<State>> inspect(const StateFile& file,
                                 Result<Inspected<State>> (*checked)(std::string_view),
                                 Result<Inspected<State>> (*unchecked)(std::string_view)) {
  auto read = checked(file.bytes);
  if (read) return read;
  const std::string part = without_text_as_sum(checkpoint::readable_part(file.bytes));
  if (part == file.bytes && wrong_sums(file).empty()) return read;
  auto damaged = unchecked(part);
  return damaged && !damaged->policy.empty() ? std::move(damaged) : std::move(read);
}

/// Returns what is wrong with a file whose contents are shown nevertheless.
std::vector<std::string> damages_of(const StateFile& file) {
  auto damages = checkpoint::describe(wrong_sums(file));
  if (without_text_as_sum(file.bytes) != file.bytes) {
    damages.push_back("checksum: expected a whole number of 0 or more");
  }
  if (const auto error = checkpoint::json_syntax_error(file.bytes)) {
    damages.push_back(in_plain_words(*error) + ": only what can be read is shown");
  }
  return damages;
}

template <class State>
ExitStatus show_state(const StateFile& file, const Result<Inspected<State>>& inspected,
                      const ShowOptions& options, const checkpoint::ContainerIds& ids) {
  auto warnings = inspected ? damages_of(file) : checkpoint::describe(wrong_sums(file));
  if (!inspected) std::erase(warnings, inspected.error().message);
  warn_of_unknown_keys(file);
  for (const std::string& line : warnings)
    warn(fmt::format("'{}': {}", input_name(file.path), line));
  if (!inspected) return report(not_inspected(file, inspected.error()));
  const auto kubelets = verdicts(file, std::nullopt, ids);
  if (options.format == OutputFormat::kJson) {
    ShowDocument document{file.path,
                          file.is_cpu ? "cpu" : "memory",
                          inspected->version,
                          warnings,
                          {},
                          {json_of(inspected->state, inspected->policy)}};
    for (const KubeletReading& verdict : kubelets)
      document.kubelets.push_back(document_of(verdict));
    fmt::print("{}", json_text(document, -1));
    return kYes;
  }
  fmt::print("{}: {} V{}, policy {}\n{}\n{}", escaped(file.path), file.is_cpu ? "CPU" : "memory",
             inspected->version, escaped(inspected->policy), text_of(inspected->state),
             text_of(kubelets));
  return kYes;
}

Result<ExitStatus> show(const ShowOptions& options) {
  PINFOLD_LET(const auto files, read_files(options.paths));
  PINFOLD_LET(const auto ids, read_container_ids(options.container_ids));
  ExitStatus status = kYes;
  for (const StateFile& file : files) {
    const ExitStatus shown =
        file.is_cpu
            ? show_state(file,
                         inspect(file, checkpoint::inspect_cpu, checkpoint::inspect_cpu_unchecked),
                         options, ids)
            : show_state(
                  file,
                  inspect(file, checkpoint::inspect_memory, checkpoint::inspect_memory_unchecked),
                  options, ids);
    status = std::max(status, shown);
  }
  return status;
}

cli::Command show_command() {
  auto options = std::make_shared<ShowOptions>();
  cli::Command command{"show",
                       "Print the contents of state files, which kubelets write or load them, and "
                       "what each kubelet would lose"};
  command.add({state_files_option(options->paths), output_option(options->format),
               container_ids_option(options->container_ids)});
  command.sections = {{"Examples",
                       {{"pinfold checkpoint show /var/lib/kubelet",
                         "Print which CPUs and memory the files name"}}}};
  command.run = [options] { return exit_status(show(*options)); };
  return command;
}

}  // namespace

cli::Command checkpoint_command() {
  return {.name = "checkpoint",
          .help = "Inspect, compare, convert and repair the kubelet's state files",
          .commands = {show_command(), checkpoint_convert_command(), checkpoint_diff_command(),
                       checkpoint_repair_command(), checkpoint_verify_command()}};
}

}  // namespace pinfold::tools
