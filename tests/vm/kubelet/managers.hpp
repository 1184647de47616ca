#pragma once

#include <filesystem>
#include <optional>
#include <tl/expected.hpp>
#include <utility>

#include "pinfold/checkpoint/start.hpp"
#include "pinfold/decide/decide.hpp"

/// The managers of the fake kubelet: Pinfold's own decisions and state files.
namespace pinfold::test {

class Managers {
 public:
  /// Starts from the state files in `folder`, and writes those that the start changes. Errors: the
  /// kubelet's.
  [[nodiscard]] static tl::expected<Managers, StartError> start(Node node,
                                                                std::filesystem::path folder);

  /// Releases the memory of removed pods, decides about a pod and writes the files. Returns the
  /// reason if it is rejected.
  [[nodiscard]] std::optional<Rejection> admit(const PodSpec& pod);
  /// Releases the CPUs: a kubelet's CPU manager looks for removed pods continuously, its memory
  /// manager only when it is asked for the next pod.
  void remove(const PodUid& pod);
  /// Releases the CPUs that the files had for pods that were not admitted again.
  void release_others();

  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] const NodeState& state() const { return state_; }

 private:
  Managers(Node node, std::filesystem::path folder)
      : node_(std::move(node)), folder_(std::move(folder)) {}
  void commit(const NodeState& next);
  void save() const;

  Node node_;
  std::filesystem::path folder_;
  NodeState state_;
  checkpoint::KubeletFiles files_;
};

}  // namespace pinfold::test
