#include "adopted_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace pinfold::agent {
namespace {

/// Returns a UID as in names of systemd slices.
std::string escaped(std::string uid) {
  std::replace(uid.begin(), uid.end(), '-', '_');
  return uid;
}

/// Returns whether a path component is the group that the kubelet or Pinfold makes for a pod.
bool is_group_of(const PodUid& pod, std::string_view component) {
  constexpr std::string_view kPrefix = "pod";
  if (component.starts_with(kPrefix) && component.substr(kPrefix.size()) == pod.value) return true;
  return component.ends_with(fmt::format("-pod{}.slice", escaped(pod.value)));
}

/// Returns whether a path is `outer` or below it.
bool is_in(const std::string& path, const std::string& outer) {
  return (path + "/").starts_with(outer + "/");
}

tl::unexpected<Error> refused(const std::string& directory, const std::string& owner) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': it is the group of {}", directory, owner));
}

/// Returns the containers with an adopted group, those with exclusive CPUs first.
std::vector<ContainerId> by_claim(const AgentState& state) {
  std::vector<ContainerId> containers;
  for (const auto& entry : state.adopted) containers.push_back(entry.id());
  std::stable_partition(containers.begin(), containers.end(), [&](const ContainerId& container) {
    return state.node.cpu.assignments.contains(container);
  });
  return containers;
}

}  // namespace

const std::pair<const std::string, ContainerId>* TakenDirectories::take(
    const std::string& directory, const ContainerId& container) {
  const auto [place, is_new] = taken_.try_emplace(directory + "/", container);
  if (!is_new) return &*place;
  const auto is_in = [](const auto& inner, const auto& outer) {
    return inner->first.starts_with(outer->first);
  };
  const auto next = std::next(place);
  auto other = taken_.end();
  if (place != taken_.begin() && is_in(place, std::prev(place))) other = std::prev(place);
  if (next != taken_.end() && is_in(next, place)) other = next;
  if (other == taken_.end()) return nullptr;
  taken_.erase(place);
  return &*other;
}

Result<void> check_container(const PodSpec& pod, const std::string& name) {
  if (pod.find(name) != nullptr) return {};
  return fail(
      ErrorCode::kNotFound,
      fmt::format("container '{}': pod '{}' has no container of this name", name, pod.name));
}

Result<void> check_pod_of_group(const NodeState& state, const std::string& root, const PodSpec& pod,
                                const std::string& container, const std::string& directory) {
  for (const Container& other : pod.containers) {
    const std::string own = fmt::format("{}/pod{}/{}", root, pod.uid, other.name);
    if (other.name == container || !is_in(directory, own)) continue;
    return refused(directory, fmt::format("container '{}'", other.name));
  }
  for (std::size_t begin = 1; begin <= directory.size();) {
    const std::size_t end = std::min(directory.find('/', begin), directory.size());
    const std::string_view component = std::string_view(directory).substr(begin, end - begin);
    begin = end + 1;
    if (component.find("pod") == std::string_view::npos || is_group_of(pod.uid, component))
      continue;
    for (const ActivePod& other : state.pods) {
      if (!is_group_of(other.spec.uid, component)) continue;
      return refused(directory, fmt::format("pod '{}' or below it", other.spec.uid));
    }
  }
  return {};
}

ContainerMap<std::string> canonical_adopted(const AgentState& state,
                                            const enforce::Cgroups& cgroups, const LogSink& log) {
  ContainerMap<std::string> adopted;
  TakenDirectories taken;
  for (const ContainerId& container : by_claim(state)) {
    const std::string& stored = *state.adopted.find(container);
    const std::string real = cgroups.canonical(stored).value_or(stored);
    const auto* const owner = taken.take(real, container);
    const bool is_in_sandbox = owner != nullptr && owner->second.pod == container.pod &&
                               owner->first == real + "/";  // shared: the group of a sandbox
    if (owner == nullptr || is_in_sandbox) {
      adopted[container] = real;
    } else if (log) {
      log(LogLevel::kError,
          fmt::format(
              "'{}', adopted for container '{}' of pod '{}', overlaps '{}', which container "
              "'{}' of pod '{}' keeps",
              stored, container.name, container.pod, owner->first, owner->second.name,
              owner->second.pod));
    }
  }
  return adopted;
}

}  // namespace pinfold::agent
