#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model_kernel.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/nri_plugin/follower.hpp"

namespace pinfold::world {

/// A container runtime that behaves like containerd: it makes groups below "kubepods", keeps a
/// record of each container's cpuset, asks a plugin and applies its answers. It works without a
/// plugin too.
class Runtime {
 public:
  using Agent = agent::NodeAgent;
  /// Calls the plugin in a turn of the service. Returns false if there is no plugin, or if it died
  /// and nothing was answered.
  using Ask = std::function<bool(const std::function<void(nri::Follower&, Agent&)>&)>;
  /// What the barrier says about a container; kIsGone: it was lost in a power cut.
  enum class AtGate { kPasses, kIsRefused, kIsGone };

  /// kSwapped: the end of a container is reported after the start of the next one with its name;
  /// kSameIds: and both have the same id. kLateUpdates: cpusets in answers are written after the
  /// next container's start.
  enum class Events { kInOrder, kSwapped, kSameIds, kLateUpdates };
  enum class Phase { kCreated, kRunning, kExited };
  struct Container {
    std::string name;
    std::string id;
    int number = 0;  ///< unique
    Phase phase = Phase::kCreated;
    std::string cpus = {};      ///< on record; "": none
    bool is_confirmed = false;  ///< the plugin was asked about its start and agreed
    bool is_asked = false;      ///< the same, but not when it connected later
  };
  struct Pod {
    PodSpec spec;
    std::string id;  ///< of its sandbox
    /// The handler of its runtime class. If not "", the whole pod runs in the sandbox's group, and
    /// containers have no groups.
    std::string handler = {};
    std::vector<Container> containers;
  };

  using Gate = std::function<AtGate(const Pod&, const Container&)>;

  /// `kernel` must outlive it. `gate`: called as the OCI hook createRuntime of each container that
  /// has its own group. `changed`: called after the runtime has changed a group's cpuset.
  Runtime(test::ModelKernel& kernel, Ask ask, Gate gate,
          std::function<void(const std::string&)> changed, Events events)
      : kernel_(&kernel),
        ask_(std::move(ask)),
        gate_(std::move(gate)),
        changed_(std::move(changed)),
        events_(events) {}

  /// Runs the sandbox of a pod that has none.
  void run_sandbox(int number, const PodSpec& spec, const std::string& handler = "");
  /// Creates a container that does not exist.
  void create(int number, const std::string& name);
  /// Starts a created container.
  void start(int number, const std::string& name);
  /// Ends the container's process.
  void stop(int number, const std::string& name);
  /// Stops and removes everything of a pod.
  void remove_sandbox(int number);
  /// Handles a plugin that has connected.
  void synchronize();
  /// Thrown if the runtime dies during a call of the plugin, and so does not get the answer.
  struct Killed {};
  void kill() { is_killed_ = true; }
  /// Starts the runtime again after that; the plugin connects.
  void come_back();
  /// Forgets everything after a power cut: nothing runs any more.
  void forget();
  /// Returns the number of the next container.
  [[nodiscard]] int next_number() const { return next_number_; }
  /// Returns the pods whose processes the kernel has moved out of their group: cgroup v1 does so
  /// when the last CPU of a group goes offline.
  [[nodiscard]] std::vector<int> stranded() const;
  /// Returns the groups about which the plugin has not been asked.
  [[nodiscard]] const std::set<std::string>& unconfirmed() const { return unconfirmed_; }

  [[nodiscard]] const std::map<int, Pod>& pods() const { return pods_; }
  /// Returns the group of a container, from the top of the hierarchy.
  [[nodiscard]] static std::string group_of(const Pod& pod, const Container& container);
  [[nodiscard]] static std::string group_of(const Pod& pod);  ///< around those of its containers
  [[nodiscard]] static std::string group_of_sandbox(const Pod& pod);

 private:
  [[nodiscard]] Container* find(int number, const std::string& name);
  /// Throws Killed.
  bool ask(const std::function<void(nri::Follower&, Agent&)>& call);
  [[nodiscard]] std::string new_id(const std::string& name);
  bool send(nri::api::Event event, const Pod& pod, const Container* container);
  void send_end(const Pod& pod, std::function<void(nri::Follower&, Agent&)> call);
  void send_end(nri::api::Event event, const Pod& pod, const Container* container);
  void send_late(const PodUid& pod);
  [[nodiscard]] AtGate pass_gate(const Pod& pod, const Container& container);
  [[nodiscard]] bool may_start(const Pod& pod, Container& container);
  void end(const Pod& pod, Container& container);
  void send_stop(const Pod& pod, const Container& container);
  using Updates = google::protobuf::RepeatedPtrField<nri::api::ContainerUpdate>;
  void apply(const Updates& updates);
  void write(const Updates& updates);
  void make_group(const std::string& group, const std::string& cpus);
  void remove_group(const std::string& group);

  test::ModelKernel* kernel_;
  Ask ask_;
  Gate gate_;
  std::function<void(const std::string&)> changed_;
  Events events_;
  /// For kSwapped and kSameIds: late calls, by pod.
  std::map<PodUid, std::vector<std::function<void(nri::Follower&, Agent&)>>> late_;
  Updates late_updates_;  ///< for kLateUpdates
  std::map<int, Pod> pods_;
  std::set<std::string> unconfirmed_;
  bool is_killed_ = false;
  int next_process_ = 1'500'000'000;
  int next_id_ = 1;
  int next_number_ = 1;  ///< of the next container
};

}  // namespace pinfold::world
