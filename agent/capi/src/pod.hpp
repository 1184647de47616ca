#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/agent/status.hpp"
#include "pinfold/pinfold.h"

/// The strings and structures that the accessors of a pinfold_pod return; immutable.
struct pinfold_pod {
  struct Container {
    pinfold::agent::ContainerStatus status;
    std::string cpus;
    std::string exclusive_cpus;
    std::vector<pinfold_hugepage_limit> hugepage_limits;  ///< their strings belong to `status`
  };
  pinfold::PodSpec spec;
  std::optional<pinfold::Rejection> rejection;
  std::string trace;
  std::string json;
  std::vector<Container> containers;
  bool is_held = false;
};

struct pinfold_pod_list {
  std::vector<std::unique_ptr<const pinfold_pod>> pods;
};

namespace pinfold::capi {

[[nodiscard]] std::unique_ptr<pinfold_pod> make_pod(agent::DecidedPod decided, const Trace& trace);
/// Makes a pod from the state of an agent. A rejected pod has no containers.
[[nodiscard]] std::unique_ptr<pinfold_pod> make_pod(const agent::NodeAgent& agent,
                                                    const PodSpec& spec,
                                                    std::optional<Rejection> rejection = {});

/// Makes the list of active pods, followed by the held ones.
[[nodiscard]] std::unique_ptr<pinfold_pod_list> make_pod_list(const agent::NodeAgent& agent);

}  // namespace pinfold::capi
