#include "pinfold/agent/readmission.hpp"

#include <fmt/format.h>

#include "pinfold/types/named.hpp"

namespace pinfold::agent {
namespace {

enforce::Layout layout_of(const Node& node, const AgentState& state, const ActivePod* pod) {
  enforce::Layout layout;
  if (pod == nullptr) return layout;
  add_pod_layout(node, state, *pod, all_container_resources(node, state.node, *pod), {}, layout);
  return layout;
}

/// Returns the CPUs that are exclusive to a container, not only to its pod; empty if none.
CpuSet exclusive_in(const enforce::Layout& layout, const ContainerId& id) {
  const auto found = layout.find(enforce::GroupName(id));
  const bool has_own = found != layout.end() && found->second.isolation == Isolation::kContainer;
  return has_own ? found->second.cpus : CpuSet();
}

bool is_renamed(const ActivePod& was, const ActivePod& is) {
  return was.spec.name != is.spec.name || was.spec.namespace_name != is.spec.namespace_name;
}

/// Describes what a container loses; "" if nothing.
std::string what_is_lost(const Container& was, const Container* is, const CpuSet& before,
                         const CpuSet& after, Resizes resizes) {
  if (is == nullptr) {
    return before.empty()
               ? "is not in the new spec"
               : fmt::format("is not in the new spec, and has {} exclusively", cpus_named(before));
  }
  if (before.empty()) return "";
  if (before != after) {
    return fmt::format("would have {} instead of {}",
                       after.empty() ? "CPUs of the shared pool" : cpus_named(after),
                       before.to_string());
  }
  const Quantity old_request = amount_of(was.resources.requests, "cpu");
  const Quantity new_request = amount_of(is->resources.requests, "cpu");
  if (old_request == new_request || resizes == Resizes::kKeepWhatIsThere) return "";
  return fmt::format(
      "has {} exclusively for its request of {}, and would request {} "
      "('pinfold resize' changes that while it runs)",
      cpus_named(before), old_request.to_string(), new_request.to_string());
}

}  // namespace

std::vector<Loss> find_losses(const Node& node, const AgentState& before, const AgentState& after,
                              const PodUid& uid, Resizes resizes) {
  std::vector<Loss> losses;
  const ActivePod* const was = before.node.find(uid);
  const ActivePod* const is = after.node.find(uid);
  if (was == nullptr || (is != nullptr && is->spec == was->spec)) return losses;
  const enforce::Layout has = layout_of(node, before, was);
  const enforce::Layout gets = layout_of(node, after, is);
  for (const Container& container : was->spec.containers) {
    const ContainerId id{uid, container.name};
    if (!has.contains(enforce::GroupName(id))) continue;  // it has ended or was removed
    std::string what =
        is == nullptr ? "would be removed, because the new spec is rejected ('pinfold resize' "
                        "changes its CPUs while it runs)"
        : is_renamed(*was, *is)
            ? fmt::format("would belong to pod '{}/{}'", is->spec.namespace_name, is->spec.name)
            : what_is_lost(container, is->spec.find(container.name), exclusive_in(has, id),
                           exclusive_in(gets, id), resizes);
    if (!what.empty()) losses.push_back({id, std::move(what)});
  }
  return losses;
}

std::string describe(const Loss& loss, const PodSpec& active) {
  return fmt::format(
      "pod '{}/{}' with the UID '{}' is active with another spec, and its container "
      "'{}' {}: remove that pod or container first, or give the new pod another UID",
      active.namespace_name, active.name, active.uid, loss.container.name, loss.what);
}

}  // namespace pinfold::agent
