#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pinfold/agent/log.hpp"
#include "pinfold/api/hint_provider.hpp"
#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/pinfold.h"

/// C callbacks behind the interfaces of the C++ library.
namespace pinfold::capi {

/// Borrows `callbacks`, which must outlive it.
[[nodiscard]] std::unique_ptr<const HintProvider> make_hint_provider(
    const pinfold_hint_provider& callbacks);

[[nodiscard]] agent::LogSink make_log_sink(const pinfold_log_sink& callback);

/// Opens cgroups over the callbacks; for AgentOptions::open_cgroups.
[[nodiscard]] std::function<Result<enforce::Cgroups>(const std::string& root)> make_cgroup_opener(
    const pinfold_cgroup_fs& callbacks);

}  // namespace pinfold::capi
