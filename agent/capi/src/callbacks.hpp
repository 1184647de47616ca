#pragma once

#include <memory>
#include <string>

#include "pinfold/agent/log.hpp"
#include "pinfold/agent/options.hpp"
#include "pinfold/api/hint_provider.hpp"
#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/pinfold.h"

/// C callbacks behind the interfaces of the C++ library.
namespace pinfold::capi {

/// The callbacks of a hint provider. `name` is a copy: that of the caller is not used again.
struct HintCallbacks {
  pinfold_hint_provider callbacks = PINFOLD_HINT_PROVIDER_INIT;
  std::string name;
};

/// `numa_count`: how many NUMA nodes the machine has. The provider throws CallbackFailure if a
/// callback breaks its rules.
[[nodiscard]] std::unique_ptr<const HintProvider> make_hint_provider(const HintCallbacks& callbacks,
                                                                     int numa_count);

[[nodiscard]] agent::LogSink make_log_sink(const pinfold_log_sink& callback);

/// Opens cgroups over the callbacks, only to read them if `is_query`; for
/// AgentOptions::open_cgroups.
[[nodiscard]] agent::CgroupsOpener make_cgroup_opener(const pinfold_cgroup_fs& callbacks,
                                                      bool is_query);

}  // namespace pinfold::capi
