#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/file_text.hpp"

namespace pinfold::agent {

/// Encodes the part of the state that is not in the kubelet's files: the active pods, their started
/// and removed containers, their devices, the CPUs that a resize must not take, adopted groups, and
/// the states of additional hint providers. JSON; docs/operations.md.
[[nodiscard]] std::string encode_pods(const AgentState& state);

/// Encodes a sequence of states to the same bytes, but encodes only pods that have changed. Finds
/// the others by the addresses of what the states share.
class PodsEncoder {
 public:
  [[nodiscard]] checkpoint::FileText encode(const AgentState& state);

 private:
  /// The entry of a pod in the file, without its spec; nullopt, empty or false: the entry has no
  /// such key.
  struct Rest {
    std::vector<std::string> removed;
    std::vector<std::string> end_with_group;
    std::vector<std::string> unread;
    std::optional<ContainerMap<std::string>::OfPod> adopted;
    std::optional<ContainerMap<DeviceState::OfContainer>::OfPod> devices;
    std::optional<ContainerMap<CpuSet>::OfPod> baselines;
    bool is_ending = false;
    std::optional<enforce::ProcessId> creator;
    std::optional<PodNote> note;
  };
  /// A pod and its entry, with the comma before it.
  struct Entry {
    const ActivePod* pod;  ///< in last_; nullptr: has changed since
    checkpoint::SummedText text;
  };
  /// Entries that follow each other, as one text.
  struct Group {
    std::vector<Entry> entries;
    checkpoint::FileText::Part joined = nullptr;  ///< null: has to be joined again
    bool is_first = false;                        ///< joined without the comma at its front
  };
  using Pods = ActivePods::Iterator;

  [[nodiscard]] static Rest rest_of(const AgentState& state, const PodUid& uid);
  [[nodiscard]] static Entry encode_entry(const AgentState& state, const ActivePod& pod);
  [[nodiscard]] static bool is_kept(const Group& group, const ActivePods& pods, Pods next);
  [[nodiscard]] static Group updated(Group group, const AgentState& state, Pods& next);
  static void join(Group& group, bool is_first);
  void drop_changed(const AgentState& next);
  void update_groups(const AgentState& next);

  AgentState last_;
  std::vector<Group> groups_;  ///< of last_, in the order of its pods
};

/// Fills the members that encode_pods writes. Domain: `state` already has the contents of the
/// kubelet's files. Holds the pods of these files that `text` does not name. `text`: nullopt if
/// there is no such file.
/// Errors: kCorrupt, "pods[1].started[0]: ...: expected ..."; kUnsupported for another version.
[[nodiscard]] Result<void> decode_pods(std::optional<std::string_view> text, AgentState& state);

}  // namespace pinfold::agent
