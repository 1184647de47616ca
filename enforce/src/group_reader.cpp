// The functions of GroupReader that need other headers, which include its own.

#include "pinfold/enforce/cpu_quota.hpp"
#include "pinfold/enforce/group.hpp"
#include "pinfold/enforce/processes.hpp"

namespace pinfold::enforce {

Result<std::vector<pid_t>> GroupReader::processes() const { return processes_below(*this); }

Result<CpuQuota> GroupReader::quota() const { return read_cpu_quota(*this); }

Result<std::optional<std::uint64_t>> GroupReader::huge_page_limit(const std::string& size) const {
  return read_huge_page_limit(*this, size);
}

}  // namespace pinfold::enforce
