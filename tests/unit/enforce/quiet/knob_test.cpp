#include "pinfold/quiet/knob.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pinfold::quiet {
namespace {

const CpuSet kAll = CpuSet::range(0, 7);

TEST(Knob, IsNamedByKindAndName) {
  EXPECT_EQ(to_string(Knob{KnobKind::kInterrupt, "24"}), "interrupt '24'");
  EXPECT_EQ(to_string(Knob{KnobKind::kIrqbalance, ""}), "irqbalance");
}

TEST(Knob, ReadsMasksAndLists) {
  EXPECT_EQ(cpus_of({KnobKind::kInterrupt, "1"}, "0-1,4", kAll).value(), (CpuSet{0, 1, 4}));
  EXPECT_EQ(cpus_of({KnobKind::kWorkqueue, "*"}, "ff", kAll).value(), kAll);
  EXPECT_EQ(cpus_of({KnobKind::kReceive, "eth0/rx-0"}, "00000001,80000002", kAll).value(),
            (CpuSet{1, 31, 32}));
  EXPECT_EQ(cpus_of({KnobKind::kReceive, "eth0/rx-0"}, "0", kAll).value(), CpuSet{});
}

TEST(Knob, TakesAUnitWithoutCpusForOneWithAll) {
  EXPECT_EQ(cpus_of({KnobKind::kUnit, "system.slice"}, "", kAll).value(), kAll);
  EXPECT_EQ(cpus_of({KnobKind::kIrqbalance, ""}, "", kAll).value(), CpuSet{});
}

TEST(Knob, HasNoCpusIfItSaysWhetherACgroupIsAPartition) {
  EXPECT_EQ(cpus_of({KnobKind::kExclusive, "/c"}, "", kAll).value(), CpuSet{});
  EXPECT_EQ(cpus_of({KnobKind::kExclusive, "/c"}, "2-3", kAll).value(), (CpuSet{2, 3}));
  for (const char* const text : {"member", "isolated"}) {
    EXPECT_FALSE(cpus_of({KnobKind::kPartition, "/c"}, text, kAll)) << text;
  }
}

TEST(Knob, RejectsWhatIsNoMask) {
  for (const std::string& text :
       std::vector<std::string>{"", "x", "F", "0-3", ",", "1 2", "1" + std::string(20'000, '0')}) {
    EXPECT_FALSE(cpus_of({KnobKind::kWorkqueue, "*"}, text, kAll)) << text.substr(0, 20);
  }
}

TEST(Knob, PrintsAMaskWithTheDigitsOfAnother) {
  const Knob knob{KnobKind::kWorkqueue, "*"};
  EXPECT_EQ(value_of(knob, CpuSet{0, 5}, "ff"), "21");
  EXPECT_EQ(value_of(knob, CpuSet{1, 33}, "00000000,ffffffff"), "00000002,00000002");
  EXPECT_EQ(value_of(knob, CpuSet{}, "3,ffffffff"), "0,00000000");
  EXPECT_EQ(value_of({KnobKind::kInterrupt, "1"}, CpuSet{0, 1, 4}, "0-7"), "0-1,4");
}

TEST(Knob, PrintsWhatItReads) {
  const Knob knob{KnobKind::kReceive, "eth0/rx-0"};
  for (const char* const text : {"0", "f", "80000000,00000001", "00,0000000a"}) {
    EXPECT_EQ(value_of(knob, cpus_of(knob, text, kAll).value(), text), text);
  }
}

}  // namespace
}  // namespace pinfold::quiet
