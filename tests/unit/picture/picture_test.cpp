#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "pinfold/discover/discover.hpp"
#include "pinfold/picture/render_node.hpp"

namespace pinfold::tools {
namespace {

Machine synthetic(const char* text) {
  auto machine = discover(HwlocSynthetic{text}, "n1");
  EXPECT_TRUE(machine) << machine.error().message;
  return std::move(*machine);
}

/// Changes a machine in ways that a synthetic description cannot express.
template <class Change>
Machine changed(const Machine& machine, Change change) {
  MachineDescription description = machine.description();
  change(description);
  auto made = Machine::make(std::move(description));
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

/// A picture of a machine whose CPUs are all in the shared pool.
Picture owned(const Machine& machine) {
  Picture picture;
  picture.overlay.entries = {{".", CpuUse::kShared, "shared pool", machine.all_cpus()}};
  return picture;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream in(text);
  std::size_t width = 0;
  for (std::string line; std::getline(in, line);) width = std::max(width, display_width(line));
  return width;
}

TEST(NodePicture, DrawsCoresWithTheirSiblings) {
  const Machine machine =
      changed(synthetic("pack:2 [numa(memory=16GiB)] l3:1 core:2 pu:2"), [](auto& d) {
        d.numa_nodes[0].distances = {10, 21};
        d.numa_nodes[1].distances = {21, 10};
        d.numa_nodes[0].hugepages = {{"hugepages-1Gi", std::uint64_t{2} << 30U},
                                     {"hugepages-2Mi", 0}};
      });
  EXPECT_EQ(render_node(machine, {}),
            R"(n1   2 sockets · 2 NUMA nodes · 4 cores · 8 CPUs (0-7) · 32Gi

╭─ socket 0 ──────────────────────────────────╮
│ NUMA 0   16Gi   huge pages 1Gi: 2Gi, 2Mi: 0 │
│         ┌─────┬─────┐                       │
│   L3 0  │ 0 1 │ 2 3 │                       │
│         └─────┴─────┘                       │
╰─────────────────────────────────────────────╯
╭─ socket 1 ──────────────────────────────────╮
│ NUMA 1   16Gi                               │
│         ┌─────┬─────┐                       │
│   L3 1  │ 4 5 │ 6 7 │                       │
│         └─────┴─────┘                       │
╰─────────────────────────────────────────────╯

NUMA distances   10 within a node, 21 to the other
)");
}

TEST(NodePicture, ShowsTheOwnersOfCpus) {
  const Machine machine = synthetic("[numa(memory=1GiB)] core:6 pu:2");
  Picture picture;
  picture.style.width = 30;
  picture.overlay.entries = {{"R", CpuUse::kReserved, "the system", CpuSet{0}},
                             {"a", CpuUse::kExclusive, "default/db/main", CpuSet{2, 3, 10}},
                             {"s", CpuUse::kShared, "shared pool", CpuSet{1, 4, 5, 6, 7, 8, 9}}};
  EXPECT_EQ(render_node(machine, picture),
            R"(n1   1 socket · 1 NUMA node · 6 cores · 12 CPUs (0-11) · 1Gi

╭─ socket 0 ──────────╮
│ NUMA 0   1Gi        │
│   ┌───────┬───────┐ │
│   │  0  1 │  2  3 │ │
│   │  R  s │  a  a │ │
│   ├───────┼───────┤ │
│   │  4  5 │  6  7 │ │
│   │  s  s │  s  s │ │
│   ├───────┼───────┤ │
│   │  8  9 │ 10 11 │ │
│   │  s  s │  a    │ │
│   └───────┴───────┘ │
╰─────────────────────╯

     CPUs    used by
  R  0       the system
  a  2-3,10  default/db/main
  s  1,4-9   shared pool
)");
}

TEST(NodePicture, ClosesAShortLastRow) {
  const Machine machine = synthetic("core:5 pu:1");
  Picture picture;
  picture.style.width = 20;
  const std::string drawn = render_node(machine, picture);
  EXPECT_EQ(drawn, R"(n1   1 socket · 1 NUMA node · 5 cores · 5 CPUs (0-4) · 1Gi

╭─ socket 0 ──────╮
│ NUMA 0   1Gi    │
│   ┌───┬───┬───┐ │
│   │ 0 │ 1 │ 2 │ │
│   ├───┼───┼───┘ │
│   │ 3 │ 4 │     │
│   └───┴───┘     │
╰─────────────────╯
)");
}

/// The first 16 CPUs are fast.
Machine hybrid(const char* text) {
  return changed(synthetic(text), [](auto& d) {
    CpuSet all;
    for (const Cpu& cpu : d.cpus) all.insert(cpu.id);
    const CpuSet fast = all & CpuSet::range(0, 15);
    d.core_kinds = {{"performance", fast}, {"efficiency", all - fast}};
  });
}

TEST(NodePicture, LabelsTheKindsOfCoresOfAHybridMachine) {
  const std::string boxes = render_node(hybrid("[numa(memory=1GiB)] l3:1 core:20 pu:1"), {});
  EXPECT_NE(boxes.find("1Gi\nKinds of cores: performance 0-15, efficiency 16-19\n\n"),
            std::string::npos)
      << boxes;
  EXPECT_NE(boxes.find("│   L3 0         │  0 │"), std::string::npos) << boxes;
  EXPECT_NE(boxes.find("│   performance  ├────┼"), std::string::npos) << boxes;
  EXPECT_NE(boxes.find("│   L3 0         │ 16 │ 17 │ 18 │ 19 │"), std::string::npos) << boxes;
  EXPECT_NE(boxes.find("│   efficiency   └────┴"), std::string::npos) << boxes;
  const Machine large = hybrid("[numa(memory=1GiB)] l3:1 core:80 pu:1");
  const std::string dense = render_node(large, owned(large));
  EXPECT_NE(dense.find("L3 0 performance   0-15  ."), std::string::npos) << dense;
  EXPECT_NE(dense.find("L3 0 efficiency   16-"), std::string::npos) << dense;
  const std::string table = render_node(large, {});
  EXPECT_NE(table.find("16 × 1 performance  0-15"), std::string::npos) << table;
  EXPECT_NE(table.find("64 × 1 efficiency   16-79"), std::string::npos) << table;
  for (const std::string& drawn : {boxes, dense, table})
    EXPECT_LE(widest_line(drawn), 80U) << drawn;
}

TEST(NodePicture, UsesAsciiIfTheLocaleIsNotUtf8) {
  const Machine machine = synthetic("pack:2 [numa(memory=1GiB)] l3:1 core:2 pu:1");
  Picture picture;
  picture.style.unicode = false;
  const std::string drawn = render_node(machine, picture);
  EXPECT_TRUE(std::all_of(drawn.begin(), drawn.end(), [](char c) {
    return c == '\n' || (c >= ' ' && c <= '~');
  })) << drawn;
  EXPECT_NE(drawn.find("| 0 | 1 |"), std::string::npos) << drawn;
}

TEST(NodePicture, ColoursOnlyOnRequest) {
  const Machine machine = synthetic("pack:2 core:2 pu:1");
  Picture picture;
  picture.overlay.entries = {{"s", CpuUse::kShared, "shared pool", machine.all_cpus()}};
  const std::string plain = render_node(machine, picture);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  picture.style.colour = true;
  std::string coloured = render_node(machine, picture);
  EXPECT_NE(coloured.find("\x1b[32m0\x1b[0m"), std::string::npos) << coloured;  // green: shared
  // Apart from the colours the picture is the same.
  for (auto at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b')) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  EXPECT_EQ(coloured, plain);
}

TEST(NodePicture, PutsSocketsInsideANodeWithSeveral) {
  const Machine machine = synthetic("[numa(memory=1GiB)] pack:2 core:1 pu:1");
  EXPECT_EQ(render_node(machine, {}),
            R"(n1   2 sockets · 1 NUMA node · 2 cores · 2 CPUs (0-1) · 1Gi

╭─ NUMA 0   1Gi ─╮
│ socket 0       │
│   ┌───┐        │
│   │ 0 │        │
│   └───┘        │
│ socket 1       │
│   ┌───┐        │
│   │ 1 │        │
│   └───┘        │
╰────────────────╯
)");
}

TEST(NodePicture, ListsNodesWithoutCpusAndWithoutMemory) {
  const Machine machine = changed(synthetic("core:1 pu:1"), [](auto& d) {
    d.numa_nodes[0].memory = 0;
    d.numa_nodes[0].distances = {10, 20, 80};
    d.numa_nodes.push_back({NumaId{252}, std::uint64_t{8} << 30U, {}, {20, 10, 80}});
    d.numa_nodes.push_back({NumaId{255}, std::uint64_t{8} << 30U, {}, {80, 80, 10}});
  });
  EXPECT_EQ(render_node(machine, {}),
            R"(n1   1 socket · 3 NUMA nodes · 1 core · 1 CPU (0) · 16Gi

╭─ socket 0 ────────────────╮ ╭─ NUMA nodes without CPUs ─╮
│ NUMA 0   no memory        │ │ NUMA 252   8Gi            │
│   ┌───┐                   │ │ NUMA 255   8Gi            │
│   │ 0 │                   │ │                           │
│   └───┘                   │ │                           │
╰───────────────────────────╯ ╰───────────────────────────╯

NUMA distances
  from/to   0  252  255
        0  10   20   80
      252  20   10   80
      255  80   80   10
)");
}

TEST(NodePicture, IsATableAboveSixtyFourCpusWithoutOwners) {
  const Machine machine =
      changed(synthetic("pack:2 [numa(memory=64GiB)] l3:2 core:16 pu:2"), [](auto& d) {
        d.numa_nodes[0].hugepages = {{"hugepages-2Mi", std::uint64_t{1} << 30U}};
        d.numa_nodes.push_back({NumaId{8}, std::uint64_t{8} << 30U, {}, {}});
      });
  EXPECT_EQ(render_node(machine, {}),
            R"(n1   2 sockets · 3 NUMA nodes · 64 cores · 128 CPUs (0-127) · 136Gi

NUMA  memory  2Mi  socket  L3  cores   CPUs
   0    64Gi  1Gi       0   0  16 × 2  0-31
                            1  16 × 2  32-63
   1    64Gi    -       1   2  16 × 2  64-95
                            3  16 × 2  96-127
   8     8Gi    -       -              none

NUMA distances   unknown
)");
}

TEST(NodePicture, IsATableAbove512Cpus) {
  const Machine machine = synthetic("pack:2 [numa(memory=64GiB)] l3:2 core:80 pu:2");
  Picture picture;
  const CpuSet odd = *CpuSet::parse("30-33,321,323,325,327,329,331,333,335,337,339");
  picture.overlay.entries = {{"a", CpuUse::kExclusive, "default/db/main", odd},
                             {"s", CpuUse::kShared, "shared pool", machine.all_cpus() - odd}};
  EXPECT_EQ(render_node(machine, picture),
            R"(n1   2 sockets · 2 NUMA nodes · 320 cores · 640 CPUs (0-639) · 128Gi

NUMA  memory  socket  L3  cores   CPUs     used by
   0    64Gi       0   0  80 × 2  0-159    a 30-33  s 0-29,34-159
                       1  80 × 2  160-319  s 160-319
   1    64Gi       1   2  80 × 2  320-479  a 321,323,325,327,329,331,333,
                                             335,337,339
                                           s 320,322,324,326,328,330,332,
                                             334,336,338,340-479
                       3  80 × 2  480-639  s 480-639

     CPUs                                           used by
  a  30-33,321,323,325,327,329,331,333,335,337,339  default/db/main
  s  0-29,34-320,322,324,326,328,330,332,334,336,   shared pool
     338,340-639

NUMA distances   unknown
)");
}

TEST(NodePicture, HasACharacterForEachCpuUpTo512) {
  const Machine machine = synthetic("pack:2 [numa(memory=64GiB)] l3:2 core:18 pu:2");
  Picture picture;
  picture.style.width = 60;
  picture.overlay.entries = {
      {"a", CpuUse::kExclusive, "default/db/main", CpuSet::range(30, 39)},
      {".", CpuUse::kShared, "shared pool", machine.all_cpus() - CpuSet::range(30, 39)}};
  picture.overlay.marks = {{"!", "drift", CpuSet{31}}};
  EXPECT_EQ(render_node(machine, picture),
            R"(n1   2 sockets · 2 NUMA nodes · 72 cores · 144 CPUs (0-143) · 128Gi

╭─ socket 0 ───────────────────────────────────────╮
│ NUMA 0   64Gi                                    │
│   L3 0       0,2..16  .  .  .  .  .  .  .  .  .  │
│              1,3..17  .  .  .  .  .  .  .  .  .  │
│            18,20..34  .  .  .  .  .  .  a  a  a  │
│            19,21..35  .  .  .  .  .  .  a! a  a  │
│   L3 1     36,38..52  a  a  .  .  .  .  .  .  .  │
│            37,39..53  a  a  .  .  .  .  .  .  .  │
│            54,56..70  .  .  .  .  .  .  .  .  .  │
│            55,57..71  .  .  .  .  .  .  .  .  .  │
╰──────────────────────────────────────────────────╯
╭─ socket 1 ───────────────────────────────────────╮
│ NUMA 1   64Gi                                    │
│   L3 2     72,74..88  .  .  .  .  .  .  .  .  .  │
│            73,75..89  .  .  .  .  .  .  .  .  .  │
│           90,92..106  .  .  .  .  .  .  .  .  .  │
│           91,93..107  .  .  .  .  .  .  .  .  .  │
│   L3 3  108,110..124  .  .  .  .  .  .  .  .  .  │
│         109,111..125  .  .  .  .  .  .  .  .  .  │
│         126,128..142  .  .  .  .  .  .  .  .  .  │
│         127,129..143  .  .  .  .  .  .  .  .  .  │
╰──────────────────────────────────────────────────╯

     CPUs         used by
  a  30-39        default/db/main
  .  0-29,40-143  shared pool
  !  31           drift

NUMA distances   unknown
)");
}

TEST(NodePicture, PutsFramesSideBySideInAWideTerminal) {
  const Machine machine = synthetic("pack:2 [numa(memory=64GiB)] l3:1 core:8 pu:2");
  Picture picture;
  const std::string narrow = render_node(machine, picture);
  EXPECT_EQ(narrow.find("╮ ╭"), std::string::npos) << narrow;
  picture.style.width = 160;
  const std::string wide = render_node(machine, picture);
  EXPECT_NE(wide.find("╮ ╭─ socket 1 "), std::string::npos) << wide;
  EXPECT_LE(widest_line(wide), 160U) << wide;
  EXPECT_EQ(std::count(narrow.begin(), narrow.end(), '\n'),
            std::count(wide.begin(), wide.end(), '\n') + 6);  // lines of a frame
}

TEST(NodePicture, OfSixtyFourNumaNodesIsNotASingleColumn) {
  const Machine machine = synthetic("pack:64 [numa(memory=8GiB)] core:4 pu:1");
  const Picture picture = owned(machine);
  const std::string drawn = render_node(machine, picture);
  EXPECT_LE(widest_line(drawn), 80U) << drawn;
  const std::string frames = drawn.substr(0, drawn.find("used by"));
  EXPECT_LE(std::count(frames.begin(), frames.end(), '\n'), 100) << drawn;
}

TEST(NodePicture, MakesOneRowOfCachesThatEachCoreHas) {
  const Machine machine = synthetic("pack:2 [numa(memory=1GiB)] l3:16 core:1 pu:4");
  const std::string drawn = render_node(machine, {});
  EXPECT_NE(drawn.find("16-31  16 × 4, an L3 each  64-127"), std::string::npos) << drawn;
}

TEST(NodePicture, FitsATerminal) {
  for (const char* text :
       {"pu:1", "core:64 pu:1", "pack:2 numa:2 l3:2 core:4 pu:2", "pack:2 numa:4 l3:4 core:4 pu:2",
        "pack:8 [numa] core:8 pu:1", "pack:64 core:8 pu:8"}) {
    const std::string drawn = render_node(synthetic(text), {});
    EXPECT_LE(widest_line(drawn), Style{}.width) << text << "\n" << drawn;
    EXPECT_LE(std::count(drawn.begin(), drawn.end(), '\n'), 140) << text << "\n" << drawn;
  }
}

/// A machine whose CPUs belong to many containers.
Picture crowded(const Machine& machine, std::size_t containers) {
  Picture picture;
  std::vector<CpuSet> cpus(containers + 1);
  for (const Cpu& cpu : machine.cpus()) {
    cpus[static_cast<std::size_t>(cpu.id.value) * 7 % cpus.size()].insert(cpu.id);
  }
  for (std::size_t i = 0; i < containers; ++i) {
    picture.overlay.entries.push_back(
        {overlay_label(i), CpuUse::kExclusive, "shop/db/main", cpus[i], "2Gi on NUMA 0"});
  }
  picture.overlay.entries.push_back({".", CpuUse::kShared, "shared pool", cpus.back()});
  picture.overlay.marks = {{"!", "drift", CpuSet{1}}};
  for (const NumaNode& node : machine.numa_nodes()) {
    const std::uint64_t odd = node.memory - 12345678;
    picture.numa.push_back({{{"regular", odd, odd / 8, odd / 3, odd / 5}}, odd / 7});
  }
  return picture;
}

constexpr const char* kMachines[] = {"pu:8",
                                     "pack:2 [numa] l3:2 core:4 pu:2",
                                     "pack:2 [numa(memory=64GiB)] l3:2 core:8 pu:2",
                                     "pack:2 numa:4 l3:4 core:4 pu:2",
                                     "pack:8 [numa] core:16 pu:4",
                                     "pack:2 numa:8 core:32 pu:2"};

TEST(NodePicture, OfACrowdedMachineFitsEightyColumns) {
  for (const char* text : kMachines) {
    const Machine machine = synthetic(text);
    for (const std::size_t containers : {1U, 20U, 100U}) {
      Picture picture = crowded(machine, containers);
      EXPECT_LE(widest_line(render_node(machine, picture)), 80U) << text << "\n"
                                                                 << render_node(machine, picture);
      for (const Cpu& cpu : machine.cpus()) picture.load[cpu.id] = 0.5;
      EXPECT_LE(widest_line(render_node(machine, picture)), 80U) << text << "\n"
                                                                 << render_node(machine, picture);
    }
  }
}

TEST(NodePicture, ListsPciDevicesByNode) {
  const Machine machine = synthetic("pack:2 [numa(memory=1GiB)] core:1 pu:1");
  Picture picture;
  picture.pci = {{"0000:02:00.0", 0x0200, 0x15b3, 0x1013, {"eth0", "mlx5_0"}, {NumaId{1}}},
                 {"0000:03:00.0", 0x0302, 0x10de, 0x2330, {}, {NumaId{0}}},
                 {"0000:04:00.0", 0x0108, 0x144d, 0xa80a, {"nvme0n1"}, {}},
                 {"0000:05:00.0", 0x0880, 0x8086, 0x0001, {}, {NumaId{0}}}};
  const std::string drawn = render_node(machine, picture);
  EXPECT_EQ(drawn.substr(drawn.find("PCI devices")),
            R"(PCI devices
  NUMA  address       kind      vendor:device  name
  0     0000:03:00.0  3D        10de:2330
  1     0000:02:00.0  Ethernet  15b3:1013      eth0 mlx5_0
  any   0000:04:00.0  NVMe      144d:a80a      nvme0n1
  and 1 of the system
)");
}

TEST(NodePicture, ListsDistancesOfManyNodesByDistance) {
  const Machine machine =
      changed(synthetic("pack:32 [numa(memory=1GiB)] core:1 pu:1"), [](auto& d) {
        for (std::size_t i = 0; i < 32; ++i) {
          for (std::size_t j = 0; j < 32; ++j) {
            d.numa_nodes[i].distances.push_back(i == j ? 10 : i / 4 == j / 4 ? 16 : 32);
          }
        }
      });
  const std::string drawn = render_node(machine, {});
  EXPECT_NE(drawn.find("     5  10: 5  16: 4,6-7  32: 0-3,8-31\n"), std::string::npos) << drawn;
}

TEST(OverlayLabel, CountsInLetters) {
  EXPECT_EQ(overlay_label(0), "a");
  EXPECT_EQ(overlay_label(25), "z");
  EXPECT_EQ(overlay_label(26), "aa");
  EXPECT_EQ(overlay_label(27), "ab");
  EXPECT_EQ(overlay_label(702), "aaa");
}

}  // namespace
}  // namespace pinfold::tools
