#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pinfold/cluster/in_flight.hpp"
#include "pinfold/cluster/node_account.hpp"
#include "pinfold/kube/list_watch.hpp"
#include "pinfold/kube/watched_pod.hpp"
#include "pinfold/predict/fleet.hpp"

namespace pinfold::cluster {

struct ClusterOptions {
  std::vector<std::string> ignored;                  ///< see Fleet
  std::chrono::milliseconds exporter_delay{15'000};  ///< longest delay of the exporters
  std::chrono::milliseconds reserve{30'000};  ///< from the answer to a filter request to the bind
};

/// Nodes, their topologies and pods as the API server shows them, and the fleet that follows from
/// them. Knows no clock: all times are the caller's. Thread-safety: none.
class ClusterView {
 public:
  explicit ClusterView(ClusterOptions options);
  ClusterView(const ClusterView&) = delete;
  ClusterView& operator=(const ClusterView&) = delete;

  /// `created` is a time as Kubernetes writes it, "2026-01-31T12:00:00Z"; "": unknown.
  void set_node(const std::string& name, const std::string& created = "");
  void remove_node(const std::string& name);

  /// `written` is when the object was last written. If it is older than its node, it belongs to an
  /// earlier machine of that name, and nothing is predicted.
  void set_topology(NodeTopology topology, const std::string& written = "");
  /// Notes that the node's object cannot be read: nothing is predicted for it.
  void set_unread(UnreadTopology unread);
  void remove_topology(const std::string& name);

  /// Pods that are set before end_pods() were bound before this program started to watch: when, and
  /// what the node showed then, is unknown.
  void begin_pods() { is_listing_pods_ = true; }
  void end_pods() { is_listing_pods_ = false; }
  void set_pod(kube::WatchedPod pod, kube::Time now);
  void remove_pod(const PodUid& uid);

  /// Returns the fleet as it is at `now`, with the pods in flight charged. The caller may change
  /// it, but must change it back.
  [[nodiscard]] Fleet& fleet(kube::Time now);
  [[nodiscard]] InFlight& in_flight() { return in_flight_; }
  [[nodiscard]] const ClusterOptions& options() const { return options_; }
  /// Returns the number of a node in the fleet; nullopt if it has no topology of its own.
  [[nodiscard]] std::optional<std::size_t> number_of(std::string_view node) const;
  /// Returns whether the kubelet of a node has just rejected a pod: until its exporter has had time
  /// to publish why, what is known about the node is wrong.
  [[nodiscard]] bool is_distrusted(std::size_t number, kube::Time now) const;
  /// Returns a bound pod; nullptr if it is not known.
  [[nodiscard]] const PodAccount* find_pod(const PodUid& uid) const;

  /// For metrics and messages.
  struct Counts {
    std::size_t nodes = 0;
    std::size_t topologies = 0;
    std::size_t unread = 0;
    std::size_t pods = 0;      ///< bound ones
    std::size_t departed = 0;  ///< removed ones that topologies may still show
    std::size_t in_flight = 0;
    std::size_t rejections = 0;  ///< pods that kubelets have rejected with a TopologyAffinityError
    std::size_t bytes = 0;       ///< of the fleet
  };
  [[nodiscard]] Counts counts() const;
  [[nodiscard]] const std::map<std::string, std::string>& unread() const { return unread_; }
  /// Returns the warnings since the last call. A problem that persists is reported once.
  [[nodiscard]] std::vector<std::string> take_warnings();

 private:
  /// Also hashes names that are not a std::string.
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };
  struct NodeAccount {
    // Next to the name, which is in the same entry: each call of a scheduler reads these two of all
    // nodes, and each cache line takes time.
    std::size_t number = 0;
    bool is_outdated = false;  ///< see set_topology
    NodeTopology topology;
    std::string written;
    std::set<PodUid> pods;
    /// Young pods that were removed before the topology showed them: it still may.
    std::vector<PodAccount> departed;
  };

  /// Takes the topology of a node whose earlier one is known, or of another node.
  Result<void> renew(NodeAccount& node, NodeTopology topology);
  Result<void> introduce(NodeTopology topology);
  void bind(kube::WatchedPod pod, kube::Time now);
  void distrust(const kube::WatchedPod& rejected, kube::Time now);
  /// Predicts the placement of a pod that was just bound.
  void predict(PodAccount& pod, const NodeAccount& node);
  void judge(PodAccount& pod, std::size_t number) const;
  void account_for(const NodeAccount& node, kube::Time now, Estimate estimate);
  void drop(const std::string& name);
  /// To be called when one of the two times has changed.
  void compare_times(const std::string& name);
  void note_warning(PodAccount& pod, const std::string& warning);
  /// Marks the nodes to account for because pods on them are no longer young.
  void note_due(kube::Time now);
  void rebuild_if_wasteful();
  [[nodiscard]] std::vector<PodAccount*> pods_on(const NodeAccount& node);
  /// Forgets the departed pods that the topology has shown, or has had the time to.
  void forget_departed(NodeAccount& node, kube::Time now) const;

  ClusterOptions options_;
  /// By name. Each call of a scheduler looks up all nodes.
  template <class Value>
  using NodeTable = std::unordered_map<std::string, Value, NameHash, std::equal_to<>>;
  NodeTable<std::string> created_;  ///< Node objects: when
  NodeTable<NodeAccount> nodes_;
  std::map<std::string, std::string> unread_;                     ///< node to why
  std::map<std::string, std::set<PodUid>, std::less<>> waiting_;  ///< pods by nodes not in nodes_
  std::map<PodUid, PodAccount> pods_;
  std::set<PodUid> unbound_;  ///< pods that were seen without a node
  InFlight in_flight_;
  Fleet fleet_;
  std::map<std::size_t, kube::Time> distrusted_;  ///< nodes by number: until when
  std::size_t rejections_ = 0;
  std::set<std::string> changed_;                    ///< nodes to account for
  std::map<kube::Time, std::set<std::string>> due_;  ///< when pods on nodes are no longer young
  std::size_t waste_ = 0;  ///< nodes and rows of the fleet that are no longer in use
  bool is_listing_pods_ = false;
  std::vector<std::string> warnings_;
};

}  // namespace pinfold::cluster
