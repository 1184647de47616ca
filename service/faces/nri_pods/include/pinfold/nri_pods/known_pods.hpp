#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/nri/messages.hpp"
#include "pinfold/types/container_id.hpp"

/// The pods of a runtime, as it has reported them.
namespace pinfold::nri {

/// In the order in which a container passes through them.
enum class Phase {
  kCreating,  ///< until POST_CREATE_CONTAINER; an update would be lost
  kCreated,
  kStarted,
  kStopped,  ///< another container with its name can be created
};

struct KnownContainer {
  api::Container shown;  ///< with the cpuset and quota that the runtime has on record
  Phase phase = Phase::kCreating;
};

struct KnownPod {
  api::PodSandbox sandbox;
  double age = 0;  ///< how many seconds its oldest process has been running; 0 if unknown
  /// One per name, the latest, in the order in which the names appeared; from Synchronize, by age,
  /// oldest first.
  std::vector<KnownContainer> containers;
  /// Reported by Synchronize: after a restart of the runtime, no event reports its sandbox.
  bool is_from_synchronize = false;

  [[nodiscard]] PodUid uid() const { return PodUid(sandbox.uid()); }
  [[nodiscard]] const KnownContainer* find(std::string_view container_name) const;
};

/// The pods of a runtime by the id of their sandbox. A pod can have several sandboxes; all but one
/// of them have stopped. Thread-safety: const is safe.
class KnownPods {
 public:
  using Map = std::map<std::string, KnownPod, std::less<>>;

  /// Returns how many seconds a process has been running; 0 if unknown.
  using AgeOf = std::function<double(std::uint32_t process)>;

  KnownPods() = default;
  /// Takes all pods of the runtime, except pods that have ended (no container, no process) and
  /// containers without a sandbox.
  explicit KnownPods(const api::SynchronizeRequest& request, const AgeOf& age = {});

  /// Records a container that is being created, possibly replacing one with its name.
  void create(const api::PodSandbox& sandbox, const api::Container& container);
  /// Handles the events RUN_POD_SANDBOX to REMOVE_CONTAINER, and StopContainer as STOP_CONTAINER.
  void change(const api::StateChangeEvent& event);
  /// Records an update that we requested; the runtime sends no event for it.
  void update(const api::ContainerUpdate& update);

  [[nodiscard]] const Map& all() const { return pods_; }
  [[nodiscard]] const KnownPod* find(std::string_view sandbox_id) const;
  /// Returns the container with this one's pod and name, which may be an earlier or a later one;
  /// nullptr if none.
  [[nodiscard]] const KnownContainer* find_name_of(const api::Container& container) const;

 private:
  void change_container(const api::StateChangeEvent& event);

  Map pods_;
};

}  // namespace pinfold::nri
