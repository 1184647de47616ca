#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/base/result.hpp"

namespace pinfold::agent {

/// The part of the state that the kubelet's files do not have: the active pods, their started and
/// removed containers, their devices, adopted groups, and the states of further hint providers.
/// JSON; docs/operations.md.
[[nodiscard]] std::string encode_pods(const AgentState& state);

/// The same bytes for one state after the other: encodes only the pods that have changed.
class PodsEncoder {
 public:
  [[nodiscard]] std::string encode(const AgentState& state);

 private:
  /// What the file has of a pod beside the pod itself; nullopt: it has no such key.
  struct Rest {
    std::vector<std::string> removed;
    std::optional<ContainerMap<std::string>::OfPod> adopted;
    std::optional<ContainerMap<DeviceState::OfContainer>::OfPod> devices;
    bool is_ending = false;
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

/// Fills the members that encode_pods writes. Domain: the state already has what the kubelet's
/// files hold. Their pods that `text` does not name are held. nullopt: there is no such file.
/// Errors: kCorrupt, "pods[1].started[0]: ...: expected ..."; kUnsupported for another version.
[[nodiscard]] Result<void> decode_pods(std::optional<std::string_view> text, AgentState& state);

}  // namespace pinfold::agent
