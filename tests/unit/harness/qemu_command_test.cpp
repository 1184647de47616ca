#include "pinfold/harness/qemu_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "machine.hpp"

namespace pinfold::harness {
namespace {

using testing::Contains;
using testing::Not;

const std::string kAppend =
    "-append console=ttyS0 no_timer_check quiet panic=-1 rdinit=/init norandmaps mitigations=off "
    "transparent_hugepage=never init_on_alloc=0 hardened_usercopy=off clearcpuid=112";

/// Each option with its value as one text: "-smp 8,...".
std::vector<std::string> pairs(const std::vector<std::string>& command) {
  std::vector<std::string> joined;
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (!command[i].starts_with('-') && i > 1) {
      joined.back() += " " + command[i];
    } else {
      joined.push_back(command[i]);
    }
  }
  return joined;
}

TEST(QemuCommand, DescribesSocketsNodesAndDistances) {
  const auto command =
      qemu_command(two_sockets(), {"qemu", "/k/vmlinuz", "/k/t.cpio"}, Accelerator::kTcg);
  EXPECT_EQ(command.front(), "qemu");
  const auto options = pairs(command);
  for (const char* option : {
           "-machine q35",
           "-accel tcg,thread=single",
           "-cpu Haswell,-erms",
           "-m 768M",
           "-smp 8,sockets=2,dies=1,cores=2,threads=2",
           "-object memory-backend-ram,id=m0,size=512M",
           "-object memory-backend-ram,id=m1,size=256M",
           "-numa node,nodeid=0,cpus=0-3,memdev=m0",
           "-numa node,nodeid=1,cpus=4-7,memdev=m1",
           "-numa dist,src=0,dst=1,val=21",
           "-numa dist,src=1,dst=0,val=12",
           "-kernel /k/vmlinuz",
           "-initrd /k/t.cpio",
           kAppend.c_str(),
           "-device isa-debug-exit,iobase=0xf4,iosize=4",
           "-no-reboot",
           "-object memory-backend-file,id=load,mem-path=/proc/self/fd/4,size=128M,share=on",
           "-device ivshmem-plain,bus=pcie.0,memdev=load,master=on",
       }) {
    EXPECT_THAT(options, Contains(option));
  }
}

TEST(QemuCommand, DescribesAMachineOfArm64) {
  VmMachine machine = two_sockets();
  machine.platform = {"debian-6.1", CgroupMode::kV1, Arch::kArm64};
  machine.nodes[1].huge_pages[2 * kMiB] = 4;
  const auto options = pairs(qemu_command(machine, {}, Accelerator::kTcg));
  for (const char* option : {
           "-machine virt,gic-version=3",
           "-cpu neoverse-n1",
           "-smp 8,sockets=2,cores=2,threads=2",
           "-numa node,nodeid=1,cpus=4-7,memdev=m1",
           "-numa dist,src=1,dst=0,val=12",
           "-serial chardev:console",
           "-device pci-serial,chardev=agent",
       }) {
    EXPECT_THAT(options, Contains(option));
  }
  EXPECT_THAT(options,
              Contains("-append console=ttyAMA0 quiet panic=-1 rdinit=/init norandmaps "
                       "mitigations=off transparent_hugepage=never init_on_alloc=0 "
                       "hardened_usercopy=off hugepagesz=2M hugepages=1:4 pinfold_cgroup=v1"));
  EXPECT_THAT(options, Not(Contains(testing::HasSubstr("isa-"))));
  EXPECT_EQ(qemu_program(Arch::kArm64), "qemu-system-aarch64");
  EXPECT_EQ(exit_status_for(Arch::kArm64, 16), 0);
  EXPECT_EQ(exit_status_for(Arch::kAmd64, 16), 33);
}

TEST(QemuCommand, SplitsCpusOfANodeIntoRanges) {
  VmMachine machine = two_sockets();
  machine.nodes[0].cpus = CpuSet{0, 1, 4, 5};
  machine.nodes[1].cpus = CpuSet{2, 3, 6, 7};
  EXPECT_THAT(pairs(qemu_command(machine, {}, Accelerator::kTcg)),
              Contains("-numa node,nodeid=0,cpus=0-1,cpus=4-5,memdev=m0"));
}

TEST(QemuCommand, GivesNoMemoryToANodeWithoutAny) {
  VmMachine machine = two_sockets();
  machine.nodes[1].memory = 0;
  const auto options = pairs(qemu_command(machine, {}, Accelerator::kTcg));
  EXPECT_THAT(options, Contains("-numa node,nodeid=1,cpus=4-7"));
  EXPECT_THAT(options, Contains("-m 512M"));
  EXPECT_THAT(options, Not(Contains(testing::HasSubstr("id=m1"))));
}

TEST(QemuCommand, PassesTheCgroupVersionToTheGuest) {
  VmMachine machine = two_sockets();
  machine.platform.cgroup = CgroupMode::kHybrid;
  EXPECT_THAT(pairs(qemu_command(machine, {}, Accelerator::kTcg)),
              Contains(kAppend + " pinfold_cgroup=hybrid"));
}

TEST(QemuCommand, DescribesCachesSlotsHugePagesAndDevices) {
  const std::string append =
      kAppend + " hugepagesz=2M hugepages=0:4,1:8 hugepagesz=1024M hugepages=0:1";
  VmMachine machine = two_sockets();
  machine.caches = 2;
  machine.absent = CpuSet::range(6, 7);
  machine.pluggable_memory = 256U << 20;
  machine.devices = {0, 1, 1};
  machine.nodes[0].huge_pages = {{2U << 20, 4}, {1U << 30, 1}};
  machine.nodes[1].huge_pages = {{2U << 20, 8}};
  const auto options = pairs(qemu_command(machine, {}, Accelerator::kTcg));
  for (const char* option : {
           "-machine q35,smp-cache.0.cache=l3,smp-cache.0.topology=module",
           "-cpu Haswell,-erms,level=0xd,+pdpe1gb",
           "-m 768M,slots=16,maxmem=1024M",
           "-smp 6,maxcpus=8,sockets=2,dies=1,modules=2,cores=1,threads=2",
           append.c_str(),
           "-device pxb-pcie,id=px0,bus=pcie.0,bus_nr=32,numa_node=0",
           "-device pxb-pcie,id=px1,bus=pcie.0,bus_nr=40,numa_node=1",
           "-device pcie-root-port,id=rp2,bus=px1,slot=2,chassis=2",
           "-device edu,bus=rp2",
       }) {
    EXPECT_THAT(options, Contains(option));
  }
}

TEST(QemuCommand, ConnectsNetworkCardsToNothing) {
  VmMachine machine = two_sockets();
  machine.network_cards = 2;
  const auto options = pairs(qemu_command(machine, {}, Accelerator::kTcg));
  for (const char* option : {"-netdev hubport,id=hub0,hubid=0", "-device vmxnet3,netdev=hub0",
                             "-netdev hubport,id=hub1,hubid=1", "-device vmxnet3,netdev=hub1"}) {
    EXPECT_THAT(options, Contains(option));
  }
}

TEST(QemuCommand, RunsCpusAtOnceIfAsked) {
  const auto single = qemu_command(two_sockets(), {}, Accelerator::kTcg);
  auto multi = qemu_command(two_sockets(), {}, Accelerator::kTcgMulti);
  EXPECT_THAT(pairs(multi), Contains("-accel tcg,thread=multi"));
  std::replace(multi.begin(), multi.end(), std::string("tcg,thread=multi"),
               std::string("tcg,thread=single"));
  EXPECT_EQ(multi, single);
}

TEST(QemuCommand, AppendsKernelArgumentsAndUsesKvm) {
  VmMachine machine = two_sockets();
  machine.kernel_arguments = "numa=off";
  const auto options = pairs(qemu_command(machine, {}, Accelerator::kKvm));
  for (const char* option :
       {"-append console=ttyS0 no_timer_check quiet panic=-1 rdinit=/init norandmaps "
        "mitigations=off numa=off",
        "-accel kvm", "-cpu Haswell"}) {
    EXPECT_THAT(options, Contains(option));
  }
}

}  // namespace
}  // namespace pinfold::harness
