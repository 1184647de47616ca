#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/pinfold.h"

/// What stands behind the opaque types of pinfold.h.

struct pinfold_text {
  std::string value;
};

struct pinfold_hints {
  pinfold::ResourceHints value;
};

/// What each call opens an agent over.
struct pinfold_node {
  pinfold::Machine machine;
  /// The kernel's list of CPUs when `machine` was discovered; "" if the caller brought it.
  std::string online;
  pinfold::Config config;
  pinfold::agent::AgentPlace place;
  std::vector<pinfold_hint_provider> providers;
};

struct pinfold_pod {
  struct Container {
    pinfold::agent::ContainerView view;
    std::string cpus;
    std::string exclusive_cpus;
    std::string cgroup_path;
    std::vector<pinfold_hugepage_limit> hugepages;  ///< names point into `view`
  };
  pinfold::PodSpec spec;
  std::optional<pinfold::Rejection> rejection;
  std::string trace;
  std::string json;
  std::vector<Container> containers;
};

namespace pinfold::capi {

/// The adapters from C callbacks to the seams of the C++ library. What they get must outlive them.
[[nodiscard]] std::unique_ptr<const HintProvider> make_provider(const pinfold_hint_provider& given);
[[nodiscard]] agent::LogSink make_log(const pinfold_log_sink& given);
[[nodiscard]] std::function<Result<enforce::Cgroups>(const std::string& root)> make_opener(
    const pinfold_cgroup_writer& given);

/// The answer about a pod that `state` may have: `rejection` and `trace` are the decision's.
[[nodiscard]] std::unique_ptr<pinfold_pod> make_answer(agent::NodeAgent& agent,
                                                       const agent::AgentState& state,
                                                       const PodSpec& spec,
                                                       std::optional<Rejection> rejection,
                                                       const Trace& trace);

/// Copies a structure that begins with its size, as far as the caller and this library know it.
/// `smallest` is the size it had when it was introduced.
/// Errors: kInvalidArgument for a size below; kUnsupported if the caller uses what came later.
[[nodiscard]] Result<void> read_struct(const void* given, void* copy, std::size_t known,
                                       std::size_t smallest, const char* name);

template <class Struct>
[[nodiscard]] Result<Struct> read_struct(const Struct* given, std::size_t smallest,
                                         const char* name) {
  Struct copy{};
  auto read = read_struct(given, &copy, sizeof(Struct), smallest, name);
  if (!read) return fail(std::move(read).error());
  copy.struct_size = sizeof(Struct);
  return copy;
}

}  // namespace pinfold::capi
