#include "own_resources.hpp"

#include <string_view>

#include "pinfold/agent/assigned_files.hpp"
#include "pinfold/nri_pods/asked.hpp"

namespace pinfold::nri {
namespace {

using agent::AssignedValues;
using settings::AssignedFor;

/// Returns what a container asks for by its annotation or the settings.
Result<std::optional<AssignedVariables>> find_asked(AssignedFor told,
                                                    const api::CreateContainerRequest& request) {
  if (told == AssignedFor::kNone) return std::nullopt;
  PINFOLD_LET(auto asked, asked_variables(request.pod(), request.container().name()));
  const bool is_silent = !request.pod().annotations().contains(std::string(kAssignedAnnotation));
  if (told == AssignedFor::kAny && is_silent) asked.emplace();
  return asked;
}

void add_mount(const std::string& directory, api::ContainerAdjustment& adjust) {
  api::Mount& mount = *adjust.add_mounts();
  mount.set_type("bind");
  mount.set_source(directory);
  mount.set_destination(agent::kOwnDirectory);
  for (const std::string& option : agent::own_mount_options()) mount.add_options(option);
}

}  // namespace

Result<void> add_own_resources(agent::NodeAgent& agent, AssignedFor told,
                               const api::CreateContainerRequest& request, const ContainerId& id,
                               api::ContainerAdjustment& adjust) {
  PINFOLD_LET(const auto asked, find_asked(told, request));
  if (!asked) return {};
  PINFOLD_LET(const auto directory, agent.publish_assigned(id));
  const auto values =
      agent::assigned_values(agent.node(), agent.state().node, agent.desired(), id).value();
  add_mount(directory, adjust);
  for (const auto& [name, value] : agent::own_variables(values, *asked)) {
    api::KeyValue& variable = *adjust.add_env();
    variable.set_key(name);
    variable.set_value(value);
  }
  return {};
}

}  // namespace pinfold::nri
