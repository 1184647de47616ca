#include "node/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "agent/agent_session.hpp"
#include "agent/agent_view.hpp"
#include "agent/command_line.hpp"
#include "agent/config_source.hpp"
#include "commands.hpp"
#include "documents.hpp"
#include "input.hpp"
#include "node/explain_later.hpp"
#include "node/explain_memory.hpp"
#include "node/explain_offline.hpp"
#include "node/kubelet_pods.hpp"
#include "node/status_picture.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/explain/amount_text.hpp"
#include "pinfold/explain/explanation.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/text/words.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::tools {
namespace {

struct ExplainOptions {
  AgentArguments agent;
  std::vector<std::string> files;
  std::string pod;
  bool no_validation = false;
  bool of_kubelet = false;  ///< the node is that of the kubelet below `agent.sysfs`
  std::string running;      ///< a file with the pods that run on the node; "": unknown
  std::string svg;
  bool memory = false;  ///< `files` are pods, processes and cgroups
};

struct Explained {
  Explanation explanation;
  NodeState state;   ///< of the node after the decision
  std::string file;  ///< that has the pod; "": none
};

bool is_called(const PodSpec& pod, const std::string& name) {
  return pod.uid.value == name || pod.name == name || pod.namespace_name + "/" + pod.name == name;
}

/// Adds the rejection of a pod that this node decides differently from one with the stored machine.
void add_rejection(const agent::AdmitOutcome& outcome, Explanation& explanation) {
  if (!outcome.rejection || explanation.rejection) return;
  explanation.rejection = outcome.rejection;
  explanation.summary = outcome.rejection->message;
  explanation.containers.clear();
}

/// Returns a member of a pod's part, such as spec.nodeName; "" if the pod has none.
std::string text_below(const nlohmann::json& pod, const char* part, const char* name) {
  const nlohmann::json* const found = pod.is_object() ? member(pod, part) : nullptr;
  const nlohmann::json* const value =
      found != nullptr && found->is_object() ? member(*found, name) : nullptr;
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

/// Removes the pods of a list that are on no node yet, with a warning, and adds the names of the
/// nodes of the others.
void drop_unscheduled(nlohmann::json& list, std::set<std::string>& nodes) {
  const auto items = list.is_object() ? list.find("items") : list.end();
  if (!list.is_object() || items == list.end() || !items->is_array()) return;
  for (auto pod = items->begin(); pod != items->end();) {
    const std::string node = text_below(*pod, "spec", "nodeName");
    if (!node.empty()) nodes.insert(printable(node));
    if (!node.empty() || text_below(*pod, "status", "phase") != "Pending") {
      ++pod;
      continue;
    }
    warn(fmt::format("--running: pod {}/{} is Pending and on no node: skipped",
                     printable(text_below(*pod, "metadata", "namespace")),
                     printable(text_below(*pod, "metadata", "name"))));
    pod = items->erase(pod);
  }
}

/// Reads the pods of --running. Those of several nodes have no common answer.
Result<std::vector<PodSpec>> read_running(const std::string& file) {
  PINFOLD_LET(const auto text, read_input(file));
  PINFOLD_LET_WRAP(auto documents, parse_documents(text), input_name(file));
  PodCollector collector(UnknownFields::kRefuse);
  std::set<std::string> nodes;
  for (nlohmann::json& document : documents) {
    drop_unscheduled(document, nodes);
    PINFOLD_TRY(collector.add(document, input_name(file)));
  }
  if (nodes.size() > 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--running: '{}' has pods of {} nodes, {}: expected those of one: pass "
                            "the output of 'kubectl get pods -A -o json --field-selector "
                            "spec.nodeName=NODE'",
                            input_name(file), nodes.size(), fmt::join(nodes, ", ")));
  }
  PINFOLD_LET(auto read, std::move(collector).finish());
  for (const std::string& note : read.notes) warn(note);
  return std::move(read.pods);
}

/// Returns the pods that run on the node: those of --running, else those that a kubelet here names.
/// Warns if it does not answer.
Result<std::vector<PodSpec>> running_pods(const ExplainOptions& options) {
  if (!options.running.empty()) return read_running(options.running);
  if (!options.of_kubelet || options.agent.sysfs != "/") return std::vector<PodSpec>();
  auto pods = read_kubelet_pods();
  if (pods) return pods;
  warn(fmt::format(
      "running pods count only with what the kubelet's files say they hold: {}; pass --running "
      "with the output of 'kubectl get pods -A -o json --field-selector spec.nodeName=NODE', or "
      "of 'curl -k -H \"Authorization: Bearer $TOKEN\" https://127.0.0.1:10250/pods' with a token "
      "that may get nodes/proxy",
      pods.error().message));
  return std::vector<PodSpec>();
}

/// Returns where the pods that run on the node come from.
std::string source_of_running(const ExplainOptions& options) {
  return options.running.empty() ? "the kubelet" : input_name(options.running);
}

void warn_of_uncounted(const ExplainOptions& options, const PodSpec& pod, const std::string& why) {
  warn(fmt::format("{}/{} of {} counts only with what the node's files say it holds: {}",
                   pod.namespace_name, pod.name, source_of_running(options), why));
}

/// Returns the state with the pods that run on the node: held ones keep what they have, and the
/// requests of all count. Warns of those that the node would not admit.
Result<agent::AgentState> state_with_running(const ExplainOptions& options,
                                             const agent::NodeAgent& agent) {
  PINFOLD_LET(const auto pods, running_pods(options));
  agent::AgentState state = agent.state();
  for (const PodSpec& pod : pods) {
    auto preview = agent.preview_after(state, {pod});
    if (!preview) {  // it would get exclusive CPUs while CPUs are offline, or take what runs
      warn_of_uncounted(options, pod, preview.error().message);
      continue;
    }
    if (const auto& rejection = preview->outcomes.front().rejection) {
      warn_of_uncounted(options, pod, rejection->reason + ": " + rejection->message);
    }
    state = std::move(preview->next);
  }
  return state;
}

/// Ignores the uid of a copy of an active pod under another name: the API server gives it a new
/// one.
void ignore_uid_of_other(const NodeState& state, PodSpec& pod) {
  const ActivePod* const active = state.find(pod.uid);
  const bool is_other = active != nullptr && (active->spec.name != pod.name ||
                                              active->spec.namespace_name != pod.namespace_name);
  if (!is_other) return;
  warn(fmt::format(
      "pod {0}/{1} has the metadata.uid of {2}/{3}, '{4}': it counts as a new pod, with "
      "another uid",
      printable(pod.namespace_name), printable(pod.name), printable(active->spec.namespace_name),
      printable(active->spec.name), printable(pod.uid.value)));
  pod.uid = PodUid(pod.namespace_name + "_" + pod.name);
}

/// Decides the pods of the files one after another, like admit. A pod that is active with the same
/// spec is unchanged.
Result<std::vector<Explained>> explain_files(const ExplainOptions& options,
                                             const agent::NodeAgent& agent,
                                             agent::AgentState state) {
  PINFOLD_LET(auto read, read_pod_files(options.files, RejectedPods::kDecide));
  for (PodSpec& pod : read.pods) ignore_uid_of_other(state.node, pod);
  if (!options.no_validation) PINFOLD_TRY(validate_all(read.pods));
  std::vector<Explained> all;
  std::vector<PodSpec> admitted;   // in this call, in its order
  std::vector<std::size_t> turns;  // by explanation: how many pods were admitted before it
  for (std::size_t i = 0; i < read.pods.size(); ++i) {
    const PodSpec& pod = read.pods[i];
    const std::string& file = options.files[read.texts[i]];
    const bool is_selected = options.pod.empty() || is_called(pod, options.pod);
    const ActivePod* const active = state.node.find(pod.uid);
    if (active != nullptr && active->spec == pod) {
      if (!is_selected) continue;
      PINFOLD_LET(auto explained, explain_active(agent.node(), state.node, pod.uid));
      all.push_back({std::move(explained), state.node, file});
      turns.push_back(admitted.size());
      continue;
    }
    auto preview = agent.preview_after(state, {pod});
    // Like admit, answers nothing for another spec that takes something from what runs.
    if (!preview && preview.error().code == ErrorCode::kBusy) return fail(preview.error());
    if (is_selected) {
      all.push_back(
          {explain_now(agent, state.node, pod), preview ? preview->next.node : state.node, file});
      turns.push_back(admitted.size());
      if (preview) add_rejection(preview->outcomes.front(), all.back().explanation);
    }
    if (preview && !preview->outcomes.front().rejection) admitted.push_back(pod);
    if (preview) state = std::move(preview->next);  // else it waits for offline CPUs
  }
  if (all.empty()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("pod '{}': not in {}", options.pod, input_names(options.files)));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    Explanation& explanation = all[i].explanation;
    if (!explanation.rejection) continue;
    const std::span<const PodSpec> in_call(admitted);
    const NodeState& before = all[i].state;  // a rejected pod changes nothing
    name_later_rejections(agent.node(), before, in_call.subspan(turns[i]), explanation);
    name_pods_of_call(in_call.first(turns[i]), explanation);
  }
  return all;
}

/// Notes which resources of the pod the decision ignored.
void add_missing_devices(const ExplainOptions& options, const agent::NodeAgent& agent,
                         Explanation& explanation) {
  for (std::string& sentence :
       missing_devices(agent.node().machine(), options.agent.machine, explanation.pod)) {
    explanation.notes.push_back(std::move(sentence));
  }
}

Result<std::vector<Explained>> explain_all(const ExplainOptions& options,
                                           const agent::NodeAgent& agent) {
  PINFOLD_LET(auto state, state_with_running(options, agent));
  if (!options.files.empty()) return explain_files(options, agent, std::move(state));
  PINFOLD_LET(const auto uid, agent::find_pod_uid(state.node, options.pod));
  PINFOLD_LET(auto explained, explain_active(agent.node(), state.node, uid));
  return std::vector<Explained>{{std::move(explained), std::move(state.node), ""}};
}

bool is_about_pods(const Remedy& remedy) {
  return remedy.kind == Remedy::Kind::kPods || remedy.kind == Remedy::Kind::kMoves;
}

/// Returns "once CPUs 4-5 are online, TEXT" if the remedy has no effect before, else the text.
std::string once_online(const Remedy& remedy, std::string text) {
  if (remedy.online.empty()) return text;
  return fmt::format("once {} {} online, {}", cpus_named(remedy.online),
                     one_or_more(remedy.online, "is", "are"), text);
}

/// Returns "with container c: cpu 6 -> 4", "if default/db moves".
std::string condition(const Remedy& remedy) {
  if (remedy.kind == Remedy::Kind::kOnline) return "once " + remedy.text;
  const bool is_clause = is_about_pods(remedy) || remedy.kind == Remedy::Kind::kResize;
  return once_online(remedy, fmt::format("{} {}", is_clause ? "if" : "with", remedy.text));
}

std::vector<std::string> remedies_of(const Explanation& explanation) {
  if (explanation.remedies.empty()) {
    return {
        "Tried without success: other amounts of one request or of two, moves of containers, fewer "
        "pods, settings."};
  }
  std::vector<std::string> all;
  for (const Remedy& remedy : explanation.remedies) all.push_back(condition(remedy));
  return all;
}

/// Returns the sentences before the table: the summary, the reason and the notes.
std::vector<std::string> opening_of(const Explanation& explanation) {
  std::vector<std::string> all = {explanation.summary + "."};
  if (explanation.rejection && !waits_for_cpus(explanation)) {
    all.push_back(fmt::format("Rejected, {}: {}", explanation.rejection->reason,
                              explanation.rejection->message));
  }
  for (const std::string& note : explanation.notes) all.push_back(note + ".");
  return all;
}

/// Returns the sentences after the remedies of a rejected pod.
std::vector<std::string> closing_of(const Explained& explained, const ExplainOptions& options) {
  const Explanation& explanation = explained.explanation;
  std::vector<std::string> all;
  if (!explanation.limit.empty()) {
    all.push_back((explanation.names.empty() ? "No other pod is in the way: "
                                             : "Removing pods does not help: ") +
                  explanation.limit);
  }
  const std::string file = explained.file.empty() ? "POD.yaml" : shell_word(explained.file);
  if (explanation.may_be_moves) {
    std::string text =
        "Whether moves of other pods' containers help is unknown: a short search found none.";
    // Pods of the same call are not on the node.
    if (options.files.size() == 1) {
      text += " A longer one: " +
              command_line("defragment --dry-run --steps 20000 --for " + file, options.agent);
    }
    all.push_back(std::move(text));
  }
  all.push_back("Other nodes: pinfold predict --nodes NODES.yaml --pod " + file);
  return all;
}

/// Returns the sentences below the drawing of a node: those of the text.
std::vector<std::string> sentences_of(const Explained& explained, const ExplainOptions& options) {
  const Explanation& explanation = explained.explanation;
  std::vector<std::string> all = opening_of(explanation);
  if (!explanation.rejection) {
    for (const ContainerExplanation& container : explanation.containers) {
      all.push_back(fmt::format("Container {}: {}; {}.", container.resources.name, container.cpus,
                                container.quota));
    }
    for (const Remedy& remedy : explanation.remedies) {
      all.push_back("For exclusive CPUs: " + once_online(remedy, remedy.text));
    }
    return all;
  }
  for (const std::string& remedy : remedies_of(explanation)) {
    all.push_back(explanation.remedies.empty() ? remedy : "It fits " + remedy);
  }
  for (std::string& sentence : closing_of(explained, options)) all.push_back(std::move(sentence));
  return all;
}

/// Returns the CPUs that the removal or move of containers of other pods frees.
CpuSet freed_cpus(const Remedy& remedy, const Overlay& overlay) {
  CpuSet freed;
  for (const PlannedContainer& move : remedy.moves) {
    freed |= move.cpus_before.value_or(CpuSet{}) - move.cpus_after.value_or(CpuSet{});
  }
  for (const Overlay::Entry& entry : overlay.entries) {
    const bool is_removed = entry.owner && std::find(remedy.pods.begin(), remedy.pods.end(),
                                                     entry.owner->pod.uid) != remedy.pods.end();
    if (is_removed) freed |= entry.cpus;
  }
  return freed;
}

/// Marks the CPUs that the first remedy about other pods frees.
void mark_freed(const Explanation& explanation, Overlay& overlay) {
  const auto remedy =
      std::find_if(explanation.remedies.begin(), explanation.remedies.end(), is_about_pods);
  if (!explanation.rejection || remedy == explanation.remedies.end()) return;
  CpuSet freed = freed_cpus(*remedy, overlay);
  if (freed.empty()) return;
  overlay.marks.push_back({"+", "would be free " + condition(*remedy), std::move(freed), false});
}

/// Returns the CPUs that a rejected pod needs; nullopt if they are not the reason, or a fraction.
std::optional<NeededCpus> needed_cpus(const Explanation& explanation) {
  for (const OccupiedResource& resource : explanation.table) {
    if (resource.resource != "cpu" || !resource.needed.is_whole()) continue;
    const std::int64_t count = resource.needed.value();
    if (count <= 0) continue;
    return NeededCpus{
        fmt::format("{}/{} needs {}", explanation.pod.namespace_name, explanation.pod.name,
                    counted(static_cast<std::size_t>(count), "CPU")),
        static_cast<std::size_t>(count)};
  }
  return std::nullopt;
}

/// Draws one panel per pod: the node with its pods, including the new one if it is admitted, or
/// what it needs and which CPUs a remedy would free if it is rejected.
Result<void> write_panels(const ExplainOptions& options, const agent::NodeAgent& agent,
                          const std::vector<Explained>& all) {
  if (options.svg.empty()) return {};
  std::vector<SvgPanel> panels;
  panels.reserve(all.size());
  for (const Explained& explained : all) {
    const Explanation& explanation = explained.explanation;
    Picture picture = picture_of(agent, explained.state);
    mark_freed(explanation, picture.overlay);
    panels.push_back(
        {fmt::format("{}/{} is {}", explanation.pod.namespace_name, explanation.pod.name,
                     explanation.rejection ? "rejected" : "admitted"),
         agent.node().machine(), std::move(picture), sentences_of(explained, options),
         needed_cpus(explanation)});
  }
  return write_svg(options.svg, "Decisions on " + agent.node().machine().name(), panels);
}

std::string holders_text(const OccupiedPlace& place) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> parts;
  for (const Holder& holder : place.holders) {
    std::string part = to_string(holder) + " " + readable(holder.amount, AmountRounding::kDown);
    if (!holder.spread_over.empty()) {
      part += fmt::format(" on NUMA {}", fmt::join(holder.spread_over, ","));
    }
    parts.push_back(std::move(part));
  }
  return some_named(std::move(parts), kMost);
}

/// Sums over the NUMA nodes, for an amount that need not be on one of them.
OccupiedPlace sum_of(const OccupiedResource& resource) {
  OccupiedPlace sum;
  for (const OccupiedPlace& place : resource.places) {
    sum.free += place.free;
    sum.reserved += place.reserved;
    sum.held += place.held;
    sum.offline += place.offline;
  }
  return sum;
}

std::set<std::int32_t> numa_nodes_of(const std::vector<OccupiedResource>& table) {
  std::set<std::int32_t> ids;
  for (const OccupiedResource& resource : table) {
    for (const OccupiedPlace& place : resource.places) {
      ids.insert(place.numa_nodes.begin(), place.numa_nodes.end());
    }
  }
  return ids;
}

bool has_offline(const OccupiedResource& resource) { return !sum_of(resource).offline.is_zero(); }

/// The rows of a resource that a table shows: on a machine with many NUMA nodes, those with the
/// most free.
struct Shown {
  std::set<const OccupiedPlace*> places;
  std::size_t left_out = 0;
  Quantity most_free = {};  ///< of those that are left out
};
Shown shown_places(const OccupiedResource& resource) {
  constexpr std::size_t kMost = 10;
  constexpr std::size_t kOfMany = 8;
  std::vector<const OccupiedPlace*> all;
  for (const OccupiedPlace& place : resource.places) all.push_back(&place);
  Shown shown;
  if (all.size() > kMost) {
    std::stable_sort(all.begin(), all.end(), [](const OccupiedPlace* a, const OccupiedPlace* b) {
      return a->free > b->free;
    });
    shown.left_out = all.size() - kOfMany;
    shown.most_free = all[kOfMany]->free;
    all.resize(kOfMany);
  }
  shown.places = {all.begin(), all.end()};
  return shown;
}

std::string resource_table(const Explanation& explanation) {
  using Align = TextTable::Align;
  const bool is_any_offline =
      std::any_of(explanation.table.begin(), explanation.table.end(), has_offline);
  std::vector<TextTable::Column> columns = {{"RESOURCE", Align::kLeft},  {"NUMA", Align::kLeft},
                                            {"NEEDED", Align::kRight},   {"FREE", Align::kRight},
                                            {"RESERVED", Align::kRight}, {"HELD", Align::kRight},
                                            {"BY", Align::kLeft, true}};
  if (is_any_offline)
    columns.insert(columns.begin() + 4, TextTable::Column{"OFFLINE", Align::kRight});
  TextTable table(std::move(columns));
  const auto add = [&](const OccupiedResource& resource, const OccupiedPlace& place,
                       const std::string& where, const std::string& needed) {
    std::vector<std::string> row = {resource.resource,
                                    where,
                                    needed,
                                    readable(place.free, AmountRounding::kDown),
                                    readable(place.reserved, AmountRounding::kUp),
                                    readable(place.held, AmountRounding::kDown),
                                    holders_text(place)};
    if (is_any_offline) {
      row.insert(row.begin() + 4, readable(place.offline, AmountRounding::kDown));
    }
    table.add(std::move(row));
  };
  const std::set<std::int32_t> named = numa_nodes_of(explanation.table);
  const auto add_rest = [&](const OccupiedResource& resource, std::size_t count,
                            const Quantity& most_free) {
    std::vector<std::string> row(is_any_offline ? 8 : 7);
    row[0] = resource.resource;
    row[1] = fmt::format("{} more", count);
    row[3] = "<= " + readable(most_free, AmountRounding::kDown);
    table.add(std::move(row));
  };
  for (const OccupiedResource& resource : explanation.table) {
    const std::string needed = readable(resource.needed, AmountRounding::kUp);
    const bool has_sum = !explanation.is_aligned && resource.places.size() > 1;
    if (has_sum || resource.places.empty()) add(resource, sum_of(resource), "any", needed);
    bool is_everywhere = resource.places.empty() || numa_nodes_of({resource}) == named;
    const Shown shown = shown_places(resource);
    for (const OccupiedPlace& place : resource.places) {
      const bool is_near_all = place.numa_nodes.empty();  // such as devices without a NUMA node
      if (!shown.places.contains(&place)) continue;
      is_everywhere = is_everywhere || is_near_all;
      add(resource, place,
          is_near_all ? "any" : fmt::format("{}", fmt::join(place.numa_nodes, ",")),
          has_sum ? "" : needed);
    }
    if (shown.left_out > 0) add_rest(resource, shown.left_out, shown.most_free);
    if (explanation.is_aligned && !is_everywhere) add(resource, {}, "others", needed);
  }
  return table.empty() ? "" : "\n" + table.render(terminal_style(), 2);
}

std::string as_lines(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += escaped(sentence) + "\n";
  return wrapped_lines(text, terminal_style());
}

/// Returns a remedy with the command that applies it, if there is one: after it, or on a separate
/// line if both are too long for one.
std::string remedy_text(const std::string& sentence, const Remedy& remedy,
                        const ExplainOptions& options) {
  const std::string text = "  " + escaped(sentence);
  if (remedy.kind != Remedy::Kind::kMoves || options.files.size() != 1) return text + "\n";
  const std::string command = escaped(
      advised_command_line("defragment --for " + shell_word(options.files.front()), options.agent));
  const Style style = terminal_style();
  const bool fits = display_width(text) + 2 + display_width(command) <= style.width;
  return text + (fits || !style.wraps ? ": " : ":\n    ") + command + "\n";
}

std::string remedies_text(const Explained& explained, const ExplainOptions& options) {
  const Explanation& explanation = explained.explanation;
  const std::vector<std::string> remedies = remedies_of(explanation);
  std::string text = "\n";
  if (explanation.remedies.empty()) {
    text += remedies.front() + "\n";
  } else {
    text += remedies.size() > 1 ? "It fits (each line alone is enough)\n" : "It fits\n";
    for (std::size_t i = 0; i < remedies.size(); ++i) {
      text += remedy_text(remedies[i], explanation.remedies[i], options);
    }
  }
  return wrapped_lines(text, terminal_style()) + as_lines(closing_of(explained, options));
}

std::string containers_text(const std::vector<ContainerExplanation>& containers) {
  using Align = TextTable::Align;
  TextTable table({{"CONTAINER"},
                   {"ISOLATION"},
                   {"CPUS, AND WHY", Align::kLeft, true},
                   {"QUOTA, AND WHY", Align::kLeft, true}});
  FirstOfEach each;
  for (const ContainerExplanation& container : containers) {
    const std::string& name = container.resources.name;
    table.add({name, std::string(to_string(container.resources.isolation)),
               each.shown(name, container.cpus), container.quota});
  }
  return "\n" + table.render(terminal_style(), 2);
}

std::string as_text(const Explained& explained, const ExplainOptions& options) {
  const Explanation& explanation = explained.explanation;
  const std::string text = as_lines(opening_of(explanation));
  if (explanation.rejection) {
    return text + resource_table(explanation) + remedies_text(explained, options);
  }
  std::string rest = containers_text(explanation.containers);
  if (!explanation.remedies.empty()) rest += "\nFor exclusive CPUs\n";
  for (const Remedy& remedy : explanation.remedies) {
    rest += wrapped_lines(fmt::format("  {}\n", escaped(once_online(remedy, remedy.text))),
                          terminal_style());
  }
  if (!explanation.trace.facts.empty()) {
    rest += "\nHow it was decided:\n" + trace_text(explanation.trace);
  }
  return text + rest;
}

/// Returns "2 of 3 pods are admitted; shop/web is rejected."; "" for one pod.
std::string count_text(const std::vector<Explained>& all) {
  std::vector<std::string> others;
  for (const Explained& explained : all) {
    const Explanation& explanation = explained.explanation;
    if (!explanation.rejection) continue;
    others.push_back(explanation.pod.namespace_name + "/" + explanation.pod.name);
  }
  if (all.size() < 2) return "";
  const std::size_t admitted = all.size() - others.size();
  return "\n" +
         as_lines({fmt::format("{} of {} pods {} admitted{}.", admitted, all.size(),
                               admitted == 1 ? "is" : "are",
                               others.empty() ? ""
                                              : fmt::format("; {} {} rejected", listed(others),
                                                            others.size() == 1 ? "is" : "are"))});
}

/// Names the files of the kubelet below --sysfs.
Result<ExplainOptions> with_kubelet(ExplainOptions options) {
  if (!options.of_kubelet) return options;
  options.agent.config = options.agent.sysfs;
  PINFOLD_LET(options.agent.state_dir, kubelet_state_dir(options.agent.sysfs));
  return options;
}

Result<ExitStatus> run(const ExplainOptions& given) {
  PINFOLD_LET(const auto options, with_kubelet(given));
  if (options.memory) return explain_memory(options.agent, options.files);
  if (options.files.empty() && options.pod.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "expected a pod manifest, or --pod with the name of an active pod");
  }
  PINFOLD_LET(const auto agent, open_agent(options.agent));
  PINFOLD_LET(auto all, explain_all(options, agent));
  for (Explained& one : all) add_missing_devices(options, agent, one.explanation);
  PINFOLD_TRY(write_panels(options, agent, all));
  ExplainDocument document{agent.node().config().profile, {}};
  for (const Explained& one : all) {
    if (options.agent.output == OutputFormat::kJson) {
      document.pods.push_back(one.explanation);
    } else {
      fmt::print("{}{}", &one == &all.front() ? "" : "\n", as_text(one, options));
    }
  }
  fmt::print("{}",
             options.agent.output == OutputFormat::kJson ? json_text(document) : count_text(all));
  const auto is_any = [&](auto is_so) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Explained& one) { return is_so(one.explanation); });
  };
  if (is_any(waits_for_cpus)) return kBadRequest;  // as `admit`, which fails
  return is_any([](const Explanation& one) { return one.rejection.has_value(); }) ? kNo : kYes;
}

}  // namespace

std::string explain_command_line(const AgentArguments& options,
                                 const std::vector<std::string>& files, const std::string& pod,
                                 bool no_validation) {
  std::string line = command_line("explain", options);
  if (no_validation) line += " --no-validation";
  if (!pod.empty()) line += " --pod " + shell_word(pod);
  for (const std::string& file : files) line += " " + shell_word(file);
  return line;
}

cli::Command explain_command() {
  auto options = std::make_shared<ExplainOptions>();
  options->agent.is_query = true;
  options->agent.no_enforce = true;  // it reads the state, not the kernel
  cli::Command command{
      "explain",
      "Explain why a pod is admitted or rejected: what is missing, who holds it, what would help"};
  cli::Option pod = pod_option(options->pod);
  pod.required = false;
  pod.help =
      "Only the pod with this UID, name or NAMESPACE/NAME; without files, explain why this active "
      "pod has its CPUs and memory";
  command.add({state_dir_option(options->agent.state_dir),
               insecure_state_dir_option(options->agent.insecure_state_dir),
               pod_logs_option(options->agent.pod_logs)});
  command.add(node_options(options->agent));
  command.add(
      {output_option(options->agent.output),
       std::move(pod),
       {.name = "--node-from-kubelet",
        .target = &options->of_kubelet,
        .help = "Explain for the node that a kubelet manages here, or in the directory of --sysfs: "
                "read its state, configuration and flags; here also its pods, if it has a "
                "read-only port",
        .excludes = {"--state-dir", "--config", "--machine"}},
       {.name = "--running",
        .target = &options->running,
        .help = "The pods that run on the node, as 'kubectl get pods -A -o json "
                "--field-selector spec.nodeName=NODE' prints them; - for standard input",
        .value = "FILE"},
       no_validation_option(options->no_validation),
       svg_option(options->svg),
       {.name = "--memory",
        .target = &options->memory,
        .help = "Explain instead which NUMA nodes a process may bind memory to, and why not the "
                "others, for example if 'numactl --membind' fails with EINVAL. POD is then a pod, "
                "a process id or the directory of a cgroup [this process]",
        .excludes = {"--pod", "--running", "--no-validation", "--svg"}},
       {.name = "--cgroup-root",
        .target = &options->agent.cgroup_root,
        .help = "With --memory: the cgroup under which Pinfold creates its groups [pinfold, "
                "at the mount of the cpuset controller]",
        .value = "DIR",
        .needs = "--memory"},
       {.name = "POD",
        .target = &options->files,
        .help = "Pod manifests, YAML or JSON; - for standard input"}});
  command.sections = {
      {"Examples",
       {{"pinfold explain pod.yaml", "Explain whether this node would admit a pod"},
        {"pinfold explain --pod default/web", "Explain why an active pod has its CPUs and memory"},
        {"kubectl get pods -A -o json --field-selector spec.nodeName=$(hostname) | pinfold explain "
         "--node-from-kubelet --running - pod.yaml",
         "The same on a node that a kubelet manages"},
        {"pinfold explain --memory $$",
         "Explain which NUMA nodes this shell, or a pod in its place, may bind memory to"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
