#pragma once

#include <string>

/// A node that is not Pinfold's alone.
namespace pinfold::driver {

/// From this number of a pod on crun.sh starts its containers in the sandbox's group, as a runtime
/// class without a group for each container does.
inline constexpr int kFirstWithoutGroups = 900;

struct BesideOthers {
  int seconds;  ///< for how long pods come and go
  int pods;     ///< that ask for no exclusive CPUs
  int series;
  std::string file;  ///< for exclusive CPUs
};

/// Pods come and go while an agent does what koordinator does to best-effort pods (their cpuset,
/// their quota, cpu.idle), two containers have groups of their own (docker in docker), and some run
/// in the groups of their sandboxes. Throws what a runtime refuses, and what is wrong when the
/// agent has given all back.
void run_beside_others(const BesideOthers& what);

}  // namespace pinfold::driver
