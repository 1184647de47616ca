#pragma once

/// The stable headers of a program that links pinfold::agent: docs/embedding.md. A program that
/// only decides includes "pinfold/decide/decide.hpp" and links pinfold::topo.

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/agent/options.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/agent/reconfiguration.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/api/config.hpp"
#include "pinfold/api/hint_provider.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/decide/container_resources.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/decide/linux_resources.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/enforce/cgroup_fs.hpp"
#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/enforce/plan.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/quantity.hpp"
