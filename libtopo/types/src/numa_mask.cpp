#include "pinfold/types/numa_mask.hpp"

#include <ostream>

#include "pinfold/types/cpuset.hpp"

namespace pinfold {

std::string NumaMask::to_string() const {
  CpuSet list;  // CPUs have the same list format
  for (const int position : positions()) list.insert(CpuId{position});
  return list.to_string();
}

std::ostream& operator<<(std::ostream& out, NumaMask mask) { return out << mask.to_string(); }

}  // namespace pinfold
