#pragma once

#include <string>
#include <vector>

#include "guest/kubelet_requests.hpp"

/// The pods of the fake kubelet, in the guest's container runtime. Every function throws
/// std::runtime_error with the runtime's error, if any.
namespace pinfold::test {

struct RuntimeContainer {
  std::string id;
  std::string name;
  bool runs = false;
};

struct RuntimePod {
  std::string id;
  std::string uid;
  bool runs = false;
  std::vector<RuntimeContainer> containers;

  /// Returns the container of this name; nullptr if there is none.
  [[nodiscard]] const RuntimeContainer* find(const std::string& name) const;
};

/// Returns the pods that the runtime has.
[[nodiscard]] std::vector<RuntimePod> runtime_pods();

[[nodiscard]] RuntimePod run_pod(const std::string& uid, const harness::PodRequests& requests);
/// Kills the containers of a pod, and removes it and its group.
void remove_runtime_pod(const RuntimePod& pod);

/// Starts a container, instead of one of this name that has ended. Returns its id.
std::string run_container(const RuntimePod& pod, const harness::PodRequests& requests,
                          const std::string& name);
/// Sets the CPUs of a running container.
void set_cpus(const std::string& container, const std::string& cpus);

}  // namespace pinfold::test
