#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

/// Reads what a kubelet reports about its pods: the PodList of its read-only port.
namespace pinfold::harness {

/// A pod of a kubelet.
struct KubeletPod {
  std::string uid;
  std::string cgroup;                             ///< "/kubepods/burstable/podUID"
  std::map<std::string, std::string> containers;  ///< that run: name to the runtime's id
  std::string phase;                              ///< "Running"; "": none yet
  std::string reason;
  std::string message;
  bool is_running = false;  ///< every container runs
  std::string waits = {};   ///< for people: "postgres: ContainerCreating"
};

/// Returns the static pod with this name in its manifest; nullopt if the kubelet has none, or if
/// this is not a PodList. The kubelet of a guest has the host name "node", which it appends.
[[nodiscard]] std::optional<KubeletPod> find_static_pod(const nlohmann::json& list,
                                                        const std::string& name);

/// Returns "Pending (postgres: ContainerCreating)", or "Failed: REASON: MESSAGE".
[[nodiscard]] std::string describe(const KubeletPod& pod);

}  // namespace pinfold::harness
