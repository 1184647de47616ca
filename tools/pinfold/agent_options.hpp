#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "pinfold/enforce/node_agent.hpp"

namespace pinfold::tools {

/// What every command that works on a node's state takes.
struct AgentOptions {
  std::string state_dir = "/var/lib/pinfold";
  std::string cgroup_root;  ///< "": the default one
  bool no_enforce = false;
  std::string config;   ///< "": STATE_DIR/config.yaml if it is there, else the kubelet's defaults
  std::string machine;  ///< a node.json; "": discovered
  std::string sysfs = "/";
  std::string profile;  ///< "": what the configuration says
  OutputFormat output = OutputFormat::kText;
};
void add_agent_options(CLI::App& command, AgentOptions& options);

/// Opens the agent that the options describe. Warnings go to standard error.
[[nodiscard]] Result<enforce::NodeAgent> open_agent(const AgentOptions& options);

/// The pod with this UID, name or "namespace/name".
/// Errors: kNotFound; kInvalidArgument if several pods have the name.
[[nodiscard]] Result<std::string> find_pod_uid(const enforce::NodeAgent& agent,
                                               const std::string& pod);

/// One container as decided and as the kernel has it.
struct ContainerView {
  ContainerResources decided;
  enforce::Group wanted;
  std::string cgroup;  ///< relative to the root
  std::optional<enforce::SeenContainer> seen;
  std::string problem;  ///< why `seen` is absent or not as wanted; "": all is well
};
struct PodView {
  PodSpec spec;
  QosClass qos = QosClass::kBestEffort;
  std::vector<ContainerView> containers;  ///< without those that are gone
};
/// nullopt for a pod that is not active.
[[nodiscard]] std::optional<PodView> view_pod(enforce::NodeAgent& agent,
                                              const std::string& pod_uid);
[[nodiscard]] bool is_well(const PodView& pod);

[[nodiscard]] nlohmann::json to_json(const PodView& pod, enforce::NodeAgent& agent);
/// {"mode", "root", "warnings"}; null if nothing is enforced.
[[nodiscard]] nlohmann::json cgroups_json(enforce::NodeAgent& agent);
/// The table of containers, one line each.
[[nodiscard]] std::string container_table(const std::vector<PodView>& pods, bool enforced);

/// The node with who has which CPUs drawn over it.
[[nodiscard]] std::string node_picture(const enforce::NodeAgent& agent,
                                       const std::vector<PodView>& pods);

/// Tells the operator about a decision that the kernel does not have yet; returns kNo.
int report_not_enforced(const Error& error);

}  // namespace pinfold::tools
