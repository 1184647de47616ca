#include "load.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "must.hpp"

namespace pinfold::load {

LoadedNode LoadOptions::node(const std::string& name, bool is_enforced) const {
  LoadedNode made;
  made.programs = programs;
  made.directory = directory + "/" + name;
  if (is_enforced) made.cgroup_root = writable_cgroup_root(name);
  made.has_machine_of_its_own = !enforces;
  made.write_files();
  return made;
}

int exclusive_cpus(const LoadedNode& node) {
  const int cpus = node.has_machine_of_its_own ? kMachineCpus
                                               : static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return cpus - 1;
}

void Tally::check() const {
  const auto after = service_.metrics();
  const auto counted = [&](const std::string& name) {
    const auto before = before_.find(name);
    return static_cast<std::uint64_t>(after.at(name) -
                                      (before == before_.end() ? 0 : before->second));
  };
  const std::uint64_t transactions = counted(kTransactions);
  fmt::print("counts: {} admitted, {} rejected, {} removed, {} transactions with admissions\n",
             admitted_.load(), rejected_.load(), removed_.load(), transactions);
  const std::uint64_t asked = admitted_ + rejected_;
  require(admitted_ == removed_, "admitted and removed pods are not as many");
  require(after.at("pinfold_pods") == 0, "the service still has pods");
  require(counted("kubelet_topology_manager_admission_requests_total") == asked,
          "the service has counted a different number of admissions");
  require(counted("kubelet_topology_manager_admission_errors_total") == rejected_,
          "the service has counted a different number of rejections");
  require(transactions > 0 && transactions <= asked, "more transactions than admissions");
  require(counted("pinfold_requests_refused_total") == 0 &&
              counted("pinfold_requests_expired_total") == 0,
          "the service has refused requests");
}

}  // namespace pinfold::load
