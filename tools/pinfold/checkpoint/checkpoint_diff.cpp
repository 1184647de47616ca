#include <fmt/format.h>

#include "checkpoint/checkpoint_files.hpp"
#include "documents.hpp"
#include "pinfold/checkpoint/diff.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/picture/text.hpp"

namespace pinfold::tools {
namespace {

using checkpoint::Difference;
using checkpoint::Inspected;

struct DiffOptions {
  std::string before;
  std::string after;
  OutputFormat output = OutputFormat::kText;
};

template <class State>
Result<std::vector<Difference>> compare(const StateFile& before, const StateFile& after,
                                        Result<Inspected<State>> (*inspect)(std::string_view)) {
  const auto a = inspect(before.bytes);
  if (!a) return fail(not_inspected(before, a.error()));
  const auto b = inspect(after.bytes);
  if (!b) return fail(not_inspected(after, b.error()));
  std::vector<Difference> found;
  if (a->version != b->version) {
    found.push_back({"format", fmt::format("V{}", a->version), fmt::format("V{}", b->version)});
  }
  if (a->policy != b->policy) found.push_back({"policy", a->policy, b->policy});
  const auto states = checkpoint::diff(a->state, b->state);
  found.insert(found.end(), states.begin(), states.end());
  return found;
}

const StateFile* find(const std::vector<StateFile>& files, bool is_cpu) {
  for (const StateFile& file : files) {
    if (file.is_cpu == is_cpu) return &file;
  }
  return nullptr;
}

Result<std::vector<Difference>> compare_kind(const std::vector<StateFile>& before,
                                             const std::vector<StateFile>& after, bool is_cpu) {
  const StateFile* const a = find(before, is_cpu);
  const StateFile* const b = find(after, is_cpu);
  if (a == nullptr && b == nullptr) return std::vector<Difference>();
  if (a == nullptr || b == nullptr) {
    return std::vector<Difference>{
        {"file", a == nullptr ? "" : a->path, b == nullptr ? "" : b->path}};
  }
  return is_cpu ? compare(*a, *b, &checkpoint::inspect_cpu)
                : compare(*a, *b, &checkpoint::inspect_memory);
}

Result<ExitStatus> run(const DiffOptions& options) {
  PINFOLD_LET(const auto before, read_files({options.before}));
  PINFOLD_LET(const auto after, read_files({options.after}));
  ExitStatus status = kYes;
  std::vector<DiffLine> lines;
  for (const bool is_cpu : {true, false}) {
    PINFOLD_LET(const auto found, compare_kind(before, after, is_cpu));
    if (!found.empty()) status = kNo;
    if (!found.empty() && options.output == OutputFormat::kText) {
      fmt::print("{}:\n", is_cpu ? "CPU" : "memory");
    }
    for (const auto& [object, old_text, new_text] : found) {
      lines.push_back({is_cpu ? "cpu" : "memory", {object, old_text, new_text}});
      if (options.output == OutputFormat::kJson) continue;
      if (!old_text.empty()) {
        fmt::print("{}\n",
                   paint(terminal_style(), Paint::kRed, fmt::format("- {}: {}", object, old_text)));
      }
      if (!new_text.empty()) {
        fmt::print("{}\n", paint(terminal_style(), Paint::kGreen,
                                 fmt::format("+ {}: {}", object, new_text)));
      }
    }
  }
  if (options.output == OutputFormat::kJson) fmt::print("{}", json_text(lines));
  return status;
}

}  // namespace

cli::Command checkpoint_diff_command() {
  auto options = std::make_shared<DiffOptions>();
  cli::Command command{"diff", "Compare two states object by object; exit status 1 if they differ"};
  command.add({{.name = "BEFORE",
                .target = &options->before,
                .help = "State file or directory",
                .required = true},
               {.name = "AFTER",
                .target = &options->after,
                .help = "State file or directory",
                .required = true},
               output_option(options->output)});
  command.sections = {
      {"Examples", {{"pinfold checkpoint diff /var/lib/kubelet older", "Print what differs"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
