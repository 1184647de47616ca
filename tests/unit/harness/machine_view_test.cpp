#include "pinfold/harness/machine_view.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "machine.hpp"
#include "pinfold/harness/json.hpp"

namespace pinfold::harness {
namespace {

TEST(AskedMachine, EqualsTheReportOfAMatchingGuest) {
  VmMachine dies = two_sockets();
  dies.dies = 2;
  dies.cores = 1;
  VmMachine memory_only = two_sockets();
  memory_only.nodes.push_back({CpuSet{}, 64U << 20, {}});
  memory_only.distances = {{10, 21, 40}, {21, 10, 40}, {40, 40, 10}};
  VmMachine old = two_sockets();
  old.platform.cgroup = CgroupMode::kHybrid;
  VmMachine rich = two_sockets();
  rich.caches = 2;
  rich.absent = CpuSet::range(6, 7);
  rich.devices = {0, 1};
  rich.network_cards = 2;
  rich.nodes[1].huge_pages[2U << 20] = 8;
  for (const VmMachine& machine : {two_sockets(), dies, memory_only, old, rich}) {
    EXPECT_TRUE(machine_differences(machine, requested_machine(machine)).empty())
        << requested_machine(machine).dump(2);
  }
}

TEST(MachineTable, ComparesTheRequestedAndTheReportedMachine) {
  const Json requested = requested_machine(two_sockets());
  Json guest = requested;
  guest["kernel"] = "6.1.0-49-cloud-amd64";
  guest["online"] = "0-6";
  for (Json& cpu : guest["cpus"]) cpu["cache"] = cpu["id"] < 4 ? "0-3" : "4-7";
  EXPECT_EQ(machine_table(requested, guest),
            "                      requested        the guest's kernel has\n"
            "kernel                debian-6.1       6.1.0-49-cloud-amd64\n"
            "cgroup of cpuset      v2               v2\n"
            "cgroup of cpu         v2               v2\n"
            "online CPUs           0-7              0-6\n"
            "socket 0              0-3              0-3\n"
            "socket 1              4-7              4-7\n"
            "cores (SMT siblings)  0-1 2-3 4-5 6-7  0-1 2-3 4-5 6-7\n"
            "last-level caches     0-3 4-7          0-3 4-7\n"
            "node 0 cpus           0-3              0-3\n"
            "node 0 memory         512 MiB          512 MiB\n"
            "node 0 distances      10 21            10 21\n"
            "node 1 cpus           4-7              4-7\n"
            "node 1 memory         256 MiB          256 MiB\n"
            "node 1 distances      12 10            12 10\n");
}

TEST(MachineTable, AcceptsAMalformedReport) {
  const Json guest = {{"cpus", {3, {{"id", "x"}}}},
                      {"nodes", {{{"id", 9}, {"cpus", "0"}}, Json()}}};
  const std::string table = machine_table(requested_machine(two_sockets()), guest);
  EXPECT_NE(table.find("node 9 cpus"), std::string::npos) << table;
  EXPECT_EQ(machine_table(requested_machine(two_sockets()), Json()).find("the guest"),
            std::string::npos);
}

}  // namespace
}  // namespace pinfold::harness
