#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/nri/messages.hpp"
#include "pinfold/types/container_id.hpp"

/// What a runtime has reported of its pods.
namespace pinfold::nri {

/// In the order in which a container goes through them.
enum class Phase {
  kCreating,  ///< until POST_CREATE_CONTAINER; an update of it would be lost
  kCreated,
  kStarted,
  kStopped,  ///< another of its name can be made
};

struct KnownContainer {
  api::Container shown;  ///< with the cpuset and quota that the runtime has for it
  Phase phase = Phase::kCreating;
};

struct KnownPod {
  api::PodSandbox sandbox;
  double age = 0;  ///< seconds that its oldest process has run; 0: not known
  /// One of each name, the latest, in the order in which the names came; of Synchronize, in that
  /// of their age.
  std::vector<KnownContainer> containers;
  /// Synchronize brought it: after a restart of the runtime no event of its sandbox comes.
  bool is_from_synchronize = false;

  [[nodiscard]] PodUid uid() const { return PodUid(sandbox.uid()); }
  [[nodiscard]] const KnownContainer* find(std::string_view container_name) const;
};

/// The pods of a runtime by the id of their sandbox. A pod can have several sandboxes, of which all
/// but one have stopped. Thread-safety: const is safe.
class KnownPods {
 public:
  using Map = std::map<std::string, KnownPod, std::less<>>;

  /// For how many seconds a process has run; 0: not known.
  using AgeOf = std::function<double(std::uint32_t process)>;

  KnownPods() = default;
  /// All that the runtime has, without pods that have ended (no container, no process) and
  /// containers without a sandbox.
  explicit KnownPods(const api::SynchronizeRequest& request, const AgeOf& age = {});

  /// A container is being created, possibly in the place of one with its name.
  void create(const api::PodSandbox& sandbox, const api::Container& container);
  /// RUN_POD_SANDBOX to REMOVE_CONTAINER, and StopContainer as STOP_CONTAINER.
  void change(const api::StateChangeEvent& event);
  /// The runtime was asked for an update, of which no event comes.
  void update(const api::ContainerUpdate& update);

  [[nodiscard]] const Map& all() const { return pods_; }
  [[nodiscard]] const KnownPod* find(std::string_view sandbox_id) const;
  /// The container of its pod with its name, which can be an earlier or a later one; nullptr: none.
  [[nodiscard]] const KnownContainer* find_name_of(const api::Container& container) const;

 private:
  void change_container(const api::StateChangeEvent& event);

  Map pods_;
};

}  // namespace pinfold::nri
