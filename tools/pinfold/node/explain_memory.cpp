#include "node/explain_memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "agent/agent_session.hpp"
#include "documents.hpp"
#include "pinfold/agent/named_groups.hpp"
#include "pinfold/audit/memory_binding.hpp"
#include "pinfold/audit/observe.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

/// What is known of a node.
struct MemoryScan {
  const audit::Tree& tree;
  const NodeState& state;
  agent::NamedGroups groups;  ///< of containers, that exist
};

/// Returns the groups of containers that the state names, as far as they exist.
agent::NamedGroups known_groups(const agent::NodeAgent& agent, const std::string& root,
                                const audit::Tree& tree) {
  agent::NamedGroups groups = agent::named_groups(agent.node(), agent.state(), root);
  std::erase_if(groups, [&](const auto& group) {
    return group.second.container.empty() || !tree.has(group.first);
  });
  return groups;
}

/// Adds the groups of a kubelet's containers.
void add_observed(const audit::ObservedGroups& observed, const NodeState& state,
                  agent::NamedGroups& groups) {
  for (const audit::ObservedGroup& group : observed.groups) {
    const bool is_container =
        group.name.role == audit::GroupRole::kContainer && group.container.has_value();
    if (!is_container || group.container->is_sandbox) continue;
    PodRef pod = ref_of(state, group.name.pod);
    if (pod.name.empty()) {
      pod.namespace_name = group.container->namespace_name;
      pod.name = group.container->pod;
    }
    groups.emplace(group.directory, ContainerRef{std::move(pod), group.container->container});
  }
}

/// Returns the container that a group belongs to.
std::optional<ContainerRef> container_of(const agent::NamedGroups& groups, std::string directory) {
  for (; !directory.empty(); directory.resize(directory.rfind('/'))) {
    const auto found = groups.find(directory);
    if (found != groups.end()) return found->second;
  }
  return std::nullopt;
}

Result<BoundGroup> bound_group(const MemoryScan& scan, const std::string& directory,
                               std::optional<pid_t> process) {
  PINFOLD_LET(const auto facts, audit::read_binding(scan.tree, directory, process));
  BoundGroup group{container_of(scan.groups, facts.directory),
                   process.value_or(0),
                   facts.directory,
                   audit::judge_binding(facts),
                   facts.is_filtered,
                   {}};
  if (!group.container) return group;
  const auto* const blocks = scan.state.memory.assignments.find(id_of(*group.container));
  if (blocks != nullptr) group.assigned = *blocks;
  return group;
}

bool is_called(const PodRef& pod, const std::string& name) {
  return pod.uid.value == name || pod.name == name || pod.namespace_name + "/" + pod.name == name;
}

/// Returns the groups of the containers of a pod.
Result<std::vector<BoundGroup>> groups_of_pod(const MemoryScan& scan, const std::string& name) {
  std::vector<BoundGroup> found;
  std::set<PodUid> pods;
  for (const auto& [directory, container] : scan.groups) {
    if (!is_called(container.pod, name)) continue;
    pods.insert(container.pod.uid);
    PINFOLD_LET(auto group, bound_group(scan, directory, std::nullopt));
    found.push_back(std::move(group));
  }
  if (pods.size() > 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("pod '{}': {} pods have this name, give the UID: {}", name, pods.size(),
                            fmt::join(pods, ", ")));
  }
  if (!found.empty()) return found;
  return fail(ErrorCode::kNotFound,
              fmt::format("pod '{}': no container of it has a control group; expected the UID, "
                          "name or namespace/name of a pod that runs, the id of a process, or the "
                          "directory of a cgroup",
                          name));
}

std::optional<pid_t> pid_in(const std::string& subject) {
  pid_t pid = 0;
  const char* const last = subject.data() + subject.size();
  const auto [end, error] = std::from_chars(subject.data(), last, pid);
  return error == std::errc() && end == last && pid > 0 ? std::optional(pid) : std::nullopt;
}

Result<std::vector<BoundGroup>> groups_of(const MemoryScan& scan, const std::string& subject) {
  const auto process = pid_in(subject);
  if (!process && !subject.starts_with('/')) return groups_of_pod(scan, subject);
  std::string directory = subject;
  if (process) {
    PINFOLD_LET(directory, audit::cpuset_directory(scan.tree, *process));
  }
  PINFOLD_LET(auto group, bound_group(scan, directory, process));
  return std::vector<BoundGroup>{std::move(group)};
}

/// Returns "8Gi of memory on NUMA node 0".
std::string assigned_text(const std::vector<MemoryBlock>& blocks) {
  std::vector<std::string> parts;
  parts.reserve(blocks.size());
  for (const MemoryBlock& block : blocks) {
    parts.push_back(fmt::format("{} of {} on NUMA node{} {}", human_bytes(block.size), block.type,
                                block.numa_affinity.size() == 1 ? "" : "s",
                                fmt::join(block.numa_affinity, ",")));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string name_of(const BoundGroup& group) {
  const std::string place =
      group.container ? to_string(*group.container) : fmt::format("cgroup '{}'", group.cgroup_path);
  return escaped(group.pid == 0 ? place : fmt::format("process {} of {}", group.pid, place));
}

/// Returns why NUMA nodes are out of reach; names the memory manager if it has chosen them.
std::string why(const BoundGroup& group, const audit::BindingLimit& limit) {
  const bool is_assigned =
      !group.assigned.empty() && limit.directory == group.cgroup_path && group.container;
  return escaped(limit.text) +
         (is_assigned ? ": the memory manager assigned " + assigned_text(group.assigned) : "");
}

std::string binding_text(const BoundGroup& group) {
  const Style style = terminal_style();
  const std::string nodes = group.binding.numa_nodes.to_string();
  std::string text =
      fmt::format("{} may bind memory to NUMA node{} {}.\n", name_of(group),
                  group.binding.numa_nodes.size() == 1 ? "" : "s", nodes.empty() ? "none" : nodes);
  TextTable table({{"NUMA"}, {"WHY NOT", TextTable::Align::kLeft, true}});
  for (const audit::BindingLimit& limit : group.binding.limits) {
    table.add({limit.numa_nodes.to_string(), why(group, limit)});
  }
  if (!table.empty()) text += "\n" + table.render(style, 2) + "\n";
  std::string closing = fmt::format(
      "set_mempolicy and mbind fail with EINVAL unless they name a NUMA node among {}; they ignore "
      "the others.\n",
      nodes.empty() ? "these" : nodes);
  if (group.is_filtered) {
    closing +=
        "Both may fail with EPERM: the process has a seccomp filter and lacks CAP_SYS_NICE, which "
        "the default filters of containerd, CRI-O and Docker require.\n";
  }
  return text + wrapped_lines(closing, style);
}

}  // namespace

Result<ExitStatus> explain_memory(const AgentArguments& options,
                                  const std::vector<std::string>& subjects) {
  if (subjects.empty() && options.sysfs != NodeOptions().sysfs) {
    return fail(ErrorCode::kInvalidArgument,
                "--memory: expected a pod, the id of a process or the directory of a cgroup: this "
                "process is not on the machine of --sysfs");
  }
  PINFOLD_LET(const auto agent, open_agent(options));
  PINFOLD_LET(const auto tree, audit::Tree::open(options.sysfs));
  const audit::ObservedGroups observed = audit::observe_containers(tree, "").cgroups;
  const std::string root =
      options.cgroup_root.empty() ? observed.mount + "/pinfold" : options.cgroup_root;
  MemoryScan scan{tree, agent.state().node, known_groups(agent, root, tree)};
  add_observed(observed, scan.state, scan.groups);
  const std::vector<std::string> self = {std::to_string(::getpid())};
  ExplainMemoryDocument document;
  for (const std::string& subject : subjects.empty() ? self : subjects) {
    PINFOLD_LET(auto groups, groups_of(scan, subject));
    std::move(groups.begin(), groups.end(), std::back_inserter(document.groups));
  }
  if (options.output == OutputFormat::kJson) {
    fmt::print("{}", json_text(document));
    return kYes;
  }
  for (const BoundGroup& group : document.groups) {
    fmt::print("{}{}", &group == &document.groups.front() ? "" : "\n", binding_text(group));
  }
  return kYes;
}

}  // namespace pinfold::tools
