#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/base/result.hpp"

namespace pinfold::agent {

/// Encodes the part of the state that is not in the kubelet's files: the active pods, their started
/// and removed containers, their devices, the CPUs that a resize must not take, adopted groups, and
/// the states of additional hint providers. JSON; docs/operations.md.
[[nodiscard]] std::string encode_pods(const AgentState& state);

/// Produces the same bytes for a sequence of states, but encodes only pods that have changed.
class PodsEncoder {
 public:
  [[nodiscard]] std::string encode(const AgentState& state);

 private:
  /// The entry of a pod in the file, without its spec; nullopt, empty or false: the entry has no
  /// such key.
  struct Rest {
    std::vector<std::string> removed;
    std::vector<std::string> end_with_group;
    std::optional<ContainerMap<std::string>::OfPod> adopted;
    std::optional<ContainerMap<DeviceState::OfContainer>::OfPod> devices;
    std::optional<ContainerMap<CpuSet>::OfPod> baselines;
    bool is_ending = false;
    std::optional<enforce::ProcessId> creator;
    std::optional<PodNote> note;

    friend bool operator==(const Rest&, const Rest&) = default;
  };
  struct Entry {
    ActivePod pod;
    Rest rest;
    std::string text;
  };
  [[nodiscard]] static Rest rest_of(const AgentState& state, const PodUid& uid);
  [[nodiscard]] static Entry make_entry(const ActivePod& pod, Rest rest);

  std::vector<Entry> entries_;  ///< of the last state, in the order of its pods
};

/// Fills the members that encode_pods writes. Domain: `state` already has the contents of the
/// kubelet's files. Holds the pods of these files that `text` does not name. `text`: nullopt if
/// there is no such file.
/// Errors: kCorrupt, "pods[1].started[0]: ...: expected ..."; kUnsupported for another version.
[[nodiscard]] Result<void> decode_pods(std::optional<std::string_view> text, AgentState& state);

}  // namespace pinfold::agent
