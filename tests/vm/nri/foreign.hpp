#pragma once

#include <string>

/// A node that Pinfold shares with other agents.
namespace pinfold::driver {

/// From this pod number on, crun.sh starts containers in the sandbox's group, like a runtime class
/// without a group per container.
inline constexpr int kFirstWithoutGroups = 900;

struct BesideOthers {
  int seconds;  ///< for how long pods come and go
  int pods;     ///< pods that request no exclusive CPUs
  int series;
  std::string file;  ///< records exclusive CPUs
};

/// Lets pods come and go while an agent treats best-effort pods as koordinator does (their cpuset,
/// their quota, cpu.idle), two containers make groups inside their own (docker in docker), and some
/// run in the groups of their sandboxes. Throws if the runtime rejects something, or if anything is
/// wrong once the agent has restored everything.
void run_beside_others(const BesideOthers& what);

}  // namespace pinfold::driver
