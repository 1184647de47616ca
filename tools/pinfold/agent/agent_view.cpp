#include "agent/agent_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pinfold/text/message.hpp"

namespace pinfold::tools {

using agent::ContainerStatus;
using agent::PodStatus;

namespace {

TextTable::Column wrapping(const char* header) { return {header, TextTable::Align::kLeft, true}; }

enum class Observations { kColumns, kVerdict };  ///< how the table shows observed values

std::vector<std::string> row_of(const PodStatus& pod, const ContainerStatus& container) {
  const auto or_any = [](const std::string& list) { return list.empty() ? "any" : list; };
  return {pod.spec.namespace_name + "/" + pod.spec.name,
          container.resources.name,
          pod.qos ? std::string(to_string(*pod.qos)) : "-",
          std::string(to_string(container.desired.isolation)),
          or_any(container.desired.cpus.to_string()),
          or_any(container.resources.cpuset_mems)};
}

TextTable table_of(const std::vector<PodStatus>& pods, const Style& style, bool enforced,
                   Observations observations) {
  const bool has_columns = observations == Observations::kColumns;
  std::vector<TextTable::Column> columns = {wrapping("POD"),  wrapping("CONTAINER"),
                                            {"QOS"},          {"ISOLATION"},
                                            wrapping("CPUS"), wrapping("MEMS")};
  if (enforced && has_columns) {
    for (const char* header : {"RUNS ON", "MEMORY ON"}) columns.push_back({header});
  }
  if (enforced) {
    for (const char* header : {"PROCS", "VERDICT"}) columns.push_back({header});
  }
  TextTable table(std::move(columns));
  for (const PodStatus& pod : pods) {
    for (const ContainerStatus& container : pod.containers) {
      const auto& observed = container.observed;
      std::vector<std::string> row = row_of(pod, container);
      if (enforced && has_columns) {
        row.push_back(observed ? observed->effective_cpus.to_string() : "-");
        row.push_back(observed ? observed->effective_mems.to_string() : "-");
      }
      if (enforced) {
        row.push_back(observed ? std::to_string(observed->processes) : "-");
        row.push_back(container.problem.empty() ? paint(style, Paint::kGreen, "ok")
                                                : paint(style, Paint::kRed, "not ok"));
      }
      table.add_painted(std::move(row));
    }
  }
  return table;
}

}  // namespace

std::string container_table(const std::vector<PodStatus>& pods, bool enforced, const Style& style) {
  TextTable table = table_of(pods, style, enforced, Observations::kColumns);
  if (table.width() > style.width) table = table_of(pods, style, enforced, Observations::kVerdict);
  std::string text = table.render(style);
  for (const PodStatus& pod : pods) {
    if (!pod.problem.empty()) {
      text += facts_text(
          {fmt::format("{}/{}: {}", pod.spec.namespace_name, pod.spec.name, escaped(pod.problem))},
          style);
    }
    for (const ContainerStatus& container : pod.containers) {
      const std::string name =
          fmt::format("{}/{}/{}", pod.spec.namespace_name, pod.spec.name, container.resources.name);
      const std::string note = container.observed ? limit_of(container.observed->affinity) : "";
      if (!container.problem.empty()) {
        text += facts_text({fmt::format("{}: {}", name, escaped(container.problem))}, style);
      }
      if (!note.empty()) text += facts_text({fmt::format("note: {}: {}", name, note)}, style);
    }
  }
  return text;
}

std::string comparison_text(const verbs::Comparison& comparison) {
  if (comparison.differences.empty()) {
    return fmt::format(
        "Mode observe: {} compared, none would have different CPUs or memory nodes.\n",
        counted(comparison.compared, "running container"));
  }
  TextTable table({wrapping("POD"), wrapping("CONTAINER"), wrapping("RUNS ON"),
                   wrapping("WOULD HAVE"), wrapping("MEMORY ON"), wrapping("WOULD HAVE"),
                   wrapping("WHY SHARED")});
  for (const verbs::CpusetDifference& difference : comparison.differences) {
    std::vector<std::string> row = {
        to_string(difference.container.pod), difference.container.container,
        difference.observed_cpus.to_string(),
        difference.desired_cpus.empty() ? "any" : difference.desired_cpus.to_string()};
    const enforce::NodeSet& mems = difference.desired_mems;
    const bool has_mems = !mems.empty() && mems != difference.observed_mems;
    row.push_back(has_mems ? difference.observed_mems.to_string() : "");
    row.push_back(has_mems ? mems.to_string() : "");
    row.push_back(difference.why_shared);
    table.add(std::move(row));
  }
  return fmt::format("Mode observe: {} of {} would have different CPUs or memory nodes:\n{}",
                     comparison.differences.size(),
                     counted(comparison.compared, "running container"),
                     table.render(terminal_style()));
}

std::string FirstOfEach::shown(const std::string& name, const std::string& text) {
  constexpr std::size_t kLong = 60;
  if (text.size() < kLong) return text;
  const auto [first, is_new] = first_.try_emplace(text, name);
  return is_new || first->second == name ? text : "as " + first->second;
}

std::string trace_text(const Trace& trace) {
  std::size_t source = 0;
  std::size_t object = 0;
  for (const TraceFact& fact : trace.facts) {
    source = std::max(source, fact.source.size());
    object = std::max(object, fact.object.size());
  }
  std::string text;
  FirstOfEach each;
  for (const TraceFact& fact : trace.facts) {
    text += fmt::format("  {:<{}}  {:<{}}  {}\n", fact.source, source, escaped(fact.object), object,
                        escaped(each.shown(fact.object, fact.text)));
  }
  return wrapped_lines(text, terminal_style(), source + object + 4);
}

}  // namespace pinfold::tools
