#pragma once

#include <memory>
#include <string>

#include "pinfold/agent/log.hpp"
#include "pinfold/agent/options.hpp"
#include "pinfold/api/hint_provider.hpp"
#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/pinfold.h"

/// Adapts C callbacks to the interfaces of the C++ library.
namespace pinfold::capi {

/// The callbacks of a hint provider, with a copy of its name.
struct HintCallbacks {
  pinfold_hint_provider callbacks = PINFOLD_HINT_PROVIDER_INIT;
  std::string name;
};

/// Makes a hint provider from callbacks. `numa_count`: the number of NUMA nodes of the machine. The
/// provider throws CallbackFailure if a callback breaks its rules.
[[nodiscard]] std::unique_ptr<const HintProvider> make_hint_provider(const HintCallbacks& callbacks,
                                                                     int numa_count);

[[nodiscard]] agent::LogSink make_log_sink(const pinfold_log_sink& callback);

/// Returns an AgentOptions::open_cgroups that uses the callbacks; with `is_query` it only reads.
[[nodiscard]] agent::CgroupsOpener make_cgroup_opener(const pinfold_cgroup_fs& callbacks,
                                                      bool is_query);

}  // namespace pinfold::capi
