#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "hwloc_topology.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/discover/pci.hpp"

namespace pinfold::test {
namespace {

Machine synthetic(const std::string& text) {
  auto machine = discover(HwlocSynthetic{text}, "synthetic");
  EXPECT_TRUE(machine) << text << ": " << machine.error().message;
  return std::move(*machine);
}

TEST(Synthetic, NumbersPartsAsDescribed) {
  const Machine machine = synthetic("pack:2 [numa(memory=16GB)] l3:2 core:2 pu:2");
  EXPECT_EQ(machine.name(), "synthetic");
  EXPECT_EQ(machine.all_cpus().to_string(), "0-15");
  EXPECT_EQ(machine.sockets()[1].cpus.to_string(), "8-15");
  EXPECT_EQ(machine.cpus_of_numa(1).to_string(), "8-15");
  EXPECT_EQ(machine.caches().size(), 4U);
  EXPECT_EQ(machine.caches()[3].cpus.to_string(), "12-15");
  EXPECT_EQ(machine.cores()[1].cpus.to_string(), "2-3");
  EXPECT_TRUE(machine.description().has_cache_info);
  EXPECT_EQ(machine.numa_nodes()[0].memory, std::uint64_t{16} * 1000 * 1000 * 1000);
  EXPECT_TRUE(machine.numa_nodes()[0].hugepages.empty());
}

TEST(Synthetic, WorksWithoutSocketsCoresAndCaches) {
  const Machine machine = synthetic("pu:4");
  EXPECT_EQ(machine.sockets().size(), 1U);
  EXPECT_EQ(machine.sockets()[0].id, 0);
  EXPECT_EQ(machine.cores().size(), 4U);
  EXPECT_EQ(machine.numa_count(), 1);
  EXPECT_EQ(machine.numa_nodes()[0].distances, std::vector<std::uint32_t>{10});
  EXPECT_FALSE(machine.description().has_cache_info);
}

TEST(Synthetic, PutsNodesWherePutsAreWritten) {
  const Machine machine = synthetic("pack:2 numa:2 core:2 pu:2");
  EXPECT_EQ(machine.numa_count(), 4);
  EXPECT_EQ(machine.cpus_of_numa(2).to_string(), "8-11");
  EXPECT_EQ(machine.find(CpuId{8})->socket, SocketId{1});
}

TEST(Synthetic, GivesCpusOfTwoMemoriesToTheFirst) {
  const Machine machine = synthetic("pack:2 [numa(memory=8GB)] [numa(memory=1GB)] core:2 pu:1");
  ASSERT_EQ(machine.numa_count(), 4);
  for (const Cpu& cpu : machine.cpus()) EXPECT_EQ(cpu.numa.value, cpu.socket.value * 2);
}

TEST(Synthetic, RejectsInvalidTopologies) {
  for (const std::string text :
       {"", "pack:2 foo:3", "pack", "pu:0", "pack:2 pu:2 core:2", "🙂"}) {
    const auto machine = discover(HwlocSynthetic{text}, "");
    ASSERT_FALSE(machine) << text;
    EXPECT_EQ(machine.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(machine.error().message.starts_with("synthetic topology '"))
        << machine.error().message;
    EXPECT_NE(machine.error().message.find("hwloc's form"), std::string::npos);
    const bool has_pus = text.find("pu:") != std::string::npos;
    EXPECT_EQ(machine.error().message.find("'pu:N' (threads per core)") == std::string::npos,
              has_pus)
        << machine.error().message;
  }
  EXPECT_EQ(discover(HwlocSynthetic{"PU:0"}, "").error().message,
            "synthetic topology 'PU:0': expected hwloc's form, such as "
            "'pack:2 [numa(memory=16GB)] l3:1 core:4 pu:2'");
}

TEST(Synthetic, LeavesToHwlocWhatHasNoMoreCpusThanItsLimit) {
  // Each text is malformed and has at most 65,536 CPUs.
  for (const std::string text :
       {"pack:65536 foo:1", "pack:65536 foo:x", "pack:2(indexes=1:70000) foo:1",
        "pack:2 [numa(indexes=1:70000)] foo:1", "pack:65536 foo:1 [numa] bar:1"}) {
    const auto machine = discover(HwlocSynthetic{text}, "");
    ASSERT_FALSE(machine) << text;
    EXPECT_NE(machine.error().message.find("hwloc's form"), std::string::npos)
        << machine.error().message;
  }
}

TEST(Synthetic, RejectsMillionsOfCpusBeforeHwlocBuildsThem) {
  for (const std::string text :
       {"pack:1000 core:1000 pu:1000", "pu:65537", ":65537", "core:99999999999999999999 pu:1",
        "core:99999999999999999999 pu:2", "pack:65536 die:65536 l3:65536 core:65536 pu:1",
        "l2:256(size=1MB) [numa(memory=1)] core:256 pu:2"}) {
    const auto machine = discover(HwlocSynthetic{text}, "");
    ASSERT_FALSE(machine) << text;
    EXPECT_EQ(machine.error().message,
              "synthetic topology '" + text + "': expected at most 65536 CPUs");
  }
}

std::string export_xml(hwloc_topology* topology) {
  char* buffer = nullptr;
  int size = 0;
  if (hwloc_topology_export_xmlbuffer(topology, &buffer, &size, 0) != 0) return "";
  std::string text(buffer);
  hwloc_free_xmlbuffer(topology, buffer);
  return text;
}

TEST(Xml, EqualsTheTopologyItWasExportedFrom) {
  for (const char* text :
       {"pack:2 [numa(memory=16GB)] l3:2 core:2 pu:2", "pack:2 numa:2 core:2 pu:2", "pu:1",
        "pack:3 [numa] [numa(memory=5GB)] core:2 pu:4"}) {
    hwloc_topology_t raw = nullptr;
    ASSERT_EQ(hwloc_topology_init(&raw), 0);
    const HwlocTopology topology(raw);
    ASSERT_EQ(hwloc_topology_set_synthetic(raw, text), 0);
    ASSERT_EQ(hwloc_topology_load(raw), 0);
    const auto machine = discover(HwlocXml{export_xml(raw)}, "synthetic");
    ASSERT_TRUE(machine) << text << ": " << machine.error().message;
    EXPECT_EQ(*machine, synthetic(text)) << text << ": " << machine->to_json().dump();
  }
}

constexpr const char* kXml = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" allowed_cpuset="0x0000000f" nodeset="0x00000101" complete_nodeset="0x00000101" allowed_nodeset="0x00000101" gp_index="1">
    <object type="Package" os_index="7" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2">
      <object type="NUMANode" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3" local_memory="8589934592">
        <page_type size="4096" count="1048576"/>
        <page_type size="2097152" count="1024"/>
        <page_type size="1073741824" count="2"/>
      </object>
      <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4"/>
      <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="5"/>
      <object type="Bridge" gp_index="6" bridge_type="0-1" depth="0" bridge_pci="0000:[00-ff]">
        <object type="PCIDev" gp_index="7" pci_busid="0000:81:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1" pci_link_speed="0.000000">
          <object type="OSDev" gp_index="8" name="card0" osdev_type="1"/>
        </object>
      </object>
    </object>
    <object type="Package" os_index="3" cpuset="0x0000000c" complete_cpuset="0x0000000c" nodeset="0x00000100" complete_nodeset="0x00000100" gp_index="9">
      <object type="NUMANode" os_index="8" cpuset="0x0000000c" complete_cpuset="0x0000000c" nodeset="0x00000100" complete_nodeset="0x00000100" gp_index="10" local_memory="4096">
        <page_type size="256" count="1"/>
        <page_type size="512" count="2"/>
        <page_type size="1024" count="3"/>
      </object>
      <object type="PU" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004" nodeset="0x00000100" complete_nodeset="0x00000100" gp_index="11"/>
      <object type="PU" os_index="3" cpuset="0x00000008" complete_cpuset="0x00000008" nodeset="0x00000100" complete_nodeset="0x00000100" gp_index="12"/>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">0 8 </indexes>
    <u64values length="12">10 32 31 10 </u64values>
  </distances2>
</topology>
)";

TEST(Xml, CarriesMemoryHugePagesDistancesAndUnusualIds) {
  const auto machine = discover(HwlocXml{kXml}, "");
  ASSERT_TRUE(machine) << machine.error().message;
  ASSERT_EQ(machine->numa_count(), 2);
  const NumaNode& first = machine->numa_nodes()[0];
  EXPECT_EQ(first.memory, std::uint64_t{8} << 30U);
  EXPECT_EQ(first.hugepages,
            (std::map<std::string, std::uint64_t>{{"hugepages-1Gi", std::uint64_t{2} << 30U},
                                                  {"hugepages-2Mi", std::uint64_t{2} << 30U}}));
  EXPECT_EQ(first.distances, (std::vector<std::uint32_t>{10, 32}));
  EXPECT_EQ(machine->numa_nodes()[1].id, NumaId{8});
  EXPECT_EQ(machine->numa_nodes()[1].hugepages,
            (std::map<std::string, std::uint64_t>{{"hugepages-1Ki", 3072}}));
  EXPECT_EQ(machine->numa_nodes()[1].distances, (std::vector<std::uint32_t>{31, 10}));
  EXPECT_EQ(machine->find(CpuId{0})->socket, SocketId{7});
  EXPECT_EQ(machine->find(CpuId{2})->socket, SocketId{3});
  EXPECT_EQ(machine->find(CpuId{3})->numa, NumaId{8});
}

std::string with(std::string_view from, std::string_view to) {
  std::string text = kXml;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(Xml, HasTheWholeMachineWithAWarning) {
  const auto machine = discover(
      HwlocXml{with("allowed_cpuset=\"0x0000000f\"", "allowed_cpuset=\"0x00000003\"")}, "");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->all_cpus().to_string(), "0-3");
  EXPECT_EQ(machine->description().warnings,
            std::vector<std::string>{"the topology was exported by a program that was allowed to "
                                     "use 2 of 4 CPUs (0-1): all CPUs are used"});
}

TEST(Xml, NamesTheCpusThatItsExporterLeftOut) {
  const auto machine = discover(HwlocXml{with("complete_cpuset=\"0x0000000f\" allowed",
                                              "complete_cpuset=\"0x0000003f\" allowed")},
                                "");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->all_cpus().to_string(), "0-3");
  ASSERT_EQ(machine->description().warnings.size(), 1U);
  EXPECT_EQ(machine->description().warnings[0].substr(0, 39),
            "the topology does not describe CPUs 4-5");
}

TEST(Xml, NamesALaterFormat) {
  const auto machine =
      discover(HwlocXml{with("topology version=\"2.0\"", "topology version=\"3.0\"")}, "");
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(machine.error().message,
            "hwloc XML format 3.0: the newest supported is 2.x; write it with 'lstopo "
            "--export-xml-flags v2 FILE'");
}

constexpr const char* kMemoryless = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3" nodeset="0x1" complete_nodeset="0x3" allowed_nodeset="0x1" gp_index="1">
    <object type="Package" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="2">
      <object type="NUMANode" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="3" local_memory="4096"/>
      <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="4"/>
    </object>
    <object type="Package" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x0" complete_nodeset="0x2" gp_index="5">
      <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x0" complete_nodeset="0x2" gp_index="6"/>
    </object>
  </object>
</topology>
)";

TEST(Xml, KeepsNumaNodesWithoutMemory) {
  const auto machine = discover(HwlocXml{kMemoryless}, "");
  ASSERT_TRUE(machine) << machine.error().message;
  ASSERT_EQ(machine->numa_count(), 2);
  EXPECT_EQ(machine->cpus_of_numa(1).to_string(), "1");
  EXPECT_EQ(machine->numa_nodes()[1].memory, 0U);
  EXPECT_EQ(
      machine->description().warnings,
      std::vector<std::string>{"NUMA node 1 with CPU 1 has no memory object: it has 0 bytes"});
}

TEST(SourceOfText, GoesByTheForm) {
  EXPECT_TRUE(std::holds_alternative<HwlocXml>(source_of_text("\n <topology/>")));
  for (const char* text : {"pack:2 core:4 pu:2\n", "numa:2(memory=1GB) pu:2", "[numa] pu:4"}) {
    EXPECT_TRUE(std::holds_alternative<HwlocSynthetic>(source_of_text(text))) << text;
  }
  for (const char* text : {"", "{}", "cpus: []", "name: a\ncpus:\n- id: 1", R"({"cpus":1})"}) {
    EXPECT_TRUE(std::holds_alternative<MachineText>(source_of_text(text))) << text;
  }
}

TEST(SourceOfText, SkipsAByteOrderMark) {
  const std::string mark = "\xEF\xBB\xBF";
  const auto machine = discover(source_of_text(mark + kMemoryless), "");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->numa_count(), 2);
  EXPECT_TRUE(std::holds_alternative<HwlocSynthetic>(source_of_text(mark + "core:4 pu:2")));
}

TEST(SourceOfText, TakesXmlWithBlanksAndTheLineEndsOfWindows) {
  std::string text = "\n" + std::string(kMemoryless);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '\r');
  }
  const auto machine = discover(source_of_text(text), "");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->numa_count(), 2);
}

TEST(Xml, SaysThatItIsCutOff) {
  const auto machine = discover(HwlocXml{std::string(kMemoryless).substr(0, 500)}, "");
  ASSERT_FALSE(machine);
  EXPECT_NE(machine.error().message.find("cut off, without '</topology>'; expected a topology"),
            std::string::npos)
      << machine.error().message;
}

TEST(OtherForms, AreNamedWithWhatToPass) {
  struct Row {
    std::string text;
    const char* what;
  };
  std::string archive(512, '\0');
  archive.replace(0, 4, "sys/");
  archive.replace(257, 5, "ustar");
  for (const Row& row : {
           Row{R"({"apiVersion":"v1","kind":"Node","status":{"capacity":{"cpu":"8"}}})",
               "it is a Node of Kubernetes, which has no topology: pass "},
           Row{"apiVersion: v1\nkind: List\nitems:\n- kind: Node\n", "it is a Node of Kubernetes"},
           Row{"kind: NodeResourceTopology\nzones: []\n",
               "it is a NodeResourceTopology, which has sums of NUMA nodes but no cores "
               "('pinfold predict --nodes' reads it): pass"},
           Row{"processor\t: 0\nprocessor\t: 1\n", "it is /proc/cpuinfo alone, which has no"},
           Row{"MemTotal:       1 kB\n", "it is /proc/meminfo alone, which has no CPUs"},
           Row{R"({"lscpu":[{"field":"CPU(s):","data":"8"}]})", "it is the output of 'lscpu -J'"},
           Row{"CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n  0    0      0    0 0:0:0:0       "
               "yes\n",
               "it is the output of 'lscpu -e', which has no memory: pass "},
           Row{R"({"cpus":[{"cpu":0,"node":0,"socket":0,"core":0,"online":true}]})",
               "it is the output of 'lscpu -e -J', which has no memory: pass "},
           Row{R"({"num_cores":8,"memory_capacity":1})",
               "it is a kubelet's MachineInfo without its topology: pass "},
           Row{R"([{"num_cores":8,"topology":[]}])",
               "it is a list with a kubelet's MachineInfo, which is expected alone: pass "},
           Row{R"({"machine_info":{"num_cores":8,"topology":[]}})",
               "it is an object with 'machine_info', a kubelet's MachineInfo, which is expected "
               "alone: pass "},
           Row{"<!DOCTYPE html>\n<html><body/></html>", "it is a page in HTML: pass "},
           Row{R"(<svg xmlns="http://www.w3.org/2000/svg"/>)", "it is a drawing: pass "},
           Row{"# CPU,Core,Socket,Node\n0,0,0,0\n", "it is the output of 'lscpu -p'"},
           Row{"# The following is the parsable format, which\n# CPU,Core\n0,0\n",
               "it is the output of 'lscpu -p'"},
           Row{"Architecture:        x86_64\nCPU(s):              8\n",
               "it is the output of 'lscpu',"},
           Row{"available: 2 nodes (0-1)\nnode 0 cpus: 0 1\n", "it is the output of 'numactl -H'"},
           Row{"Machine (15GB total)\n  Package L#0\n    NUMANode L#0 (P#0 15GB)\n",
               "it is the text that 'lstopo' prints for people: pass "},
           Row{"Name:               a\nRoles:              <none>\nCapacity:\n  cpu:  8\n",
               "it is the output of 'kubectl describe', which is for people: pass "},
           Row{"<?xml version=\"1.0\"?>\n<!-- a > b -->\n<domain "
               "type=\"kvm\"><vcpu>4</vcpu></domain>",
               "it is a domain of libvirt"},
           Row{"<capabilities><host/></capabilities>", "it is libvirt's capabilities of a host"},
           Row{archive, "it is a tar archive: unpack it, and pass the directory"},
       }) {
    const auto machine = discover(source_of_text(row.text), "");
    ASSERT_FALSE(machine) << row.text;
    EXPECT_EQ(machine.error().code, ErrorCode::kInvalidArgument) << row.text;
    EXPECT_EQ(machine.error().message.rfind(row.what, 0), 0U) << machine.error().message;
  }
  for (const char* const text : {"{}", "<x/>", "kind: Pod", "", "items: [1]", "items: []", "<!",
                                 R"({"num_cores": 1, "topology": []})"}) {
    const auto machine = discover(source_of_text(text), "");
    ASSERT_FALSE(machine) << text;
    EXPECT_EQ(machine.error().message.find("it is "), std::string::npos) << machine.error().message;
  }
}

TEST(MachineText, KeepsItsName) {
  const std::string text = R"({"cpus": [{"id": 0, "core": 0, "socket": 0, "numa": 0}],
      "numaNodes": [{"id": 0, "memory": 1}]NAME})";
  const auto named = [&](const std::string& name) {
    std::string whole = text;
    whole.replace(whole.find("NAME"), 4, name);
    return discover(MachineText{whole}, "given")->name();
  };
  EXPECT_EQ(named(R"(, "name": "own")"), "own");
  EXPECT_EQ(named(""), "");
  EXPECT_EQ(pci_devices(MachineText{text})->size(), 0U);
}

TEST(Xml, CarriesPciDevices) {
  const auto devices = pci_devices(HwlocXml{kXml});
  ASSERT_TRUE(devices) << devices.error().message;
  const std::vector<PciDevice> expected = {
      {"0000:81:00.0", 0x0302, 0x10de, 0x2330, {"card0"}, {NumaId{0}}}};
  EXPECT_EQ(*devices, expected);
}

TEST(Xml, RejectsOtherText) {
  const std::string cut = std::string(kXml).substr(0, 1500);
  for (const std::string& text : {std::string(), std::string("<page>hello"), cut}) {
    const auto machine = discover(HwlocXml{text}, "");
    ASSERT_FALSE(machine) << text;
    EXPECT_EQ(machine.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(machine.error().message.find("expected a topology that hwloc exported as XML"),
              std::string::npos)
        << machine.error().message;
  }
}

/// hwloc 2.9 terminates a program that reads this text.
TEST(Xml, SurvivesATextThatHwlocDoesNot) {
  const std::string text =
      "<topology version=\"2.0\">\n<object cpuset=\"0x0000000f\">\n"
      "<object type=\"Package\" cpuset=\"0x0000000f\">\n</object>\n"
      "<object type=\"Core\" cpuset=\"0xx00000004\"/>\n</object>\n";
  for (int i = 0; i < 3; ++i) {
    const auto machine = discover(HwlocXml{text}, "");
    ASSERT_FALSE(machine);
    EXPECT_EQ(machine.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(machine.error().message.find("expected a topology that hwloc exported as XML"),
              std::string::npos)
        << machine.error().message;
    EXPECT_FALSE(pci_devices(HwlocXml{text}));
  }
}

TEST(Xml, ShowsTheFirstLineOfOtherText) {
  const std::string sixty(60, 'x');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"<page>", "<page>"},
      {"<page>\nhello", "<page>..."},
      {sixty + "\nhello", sixty + "..."},
      {sixty + "y\nhello", sixty + "..."},
      {sixty, sixty}};
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(discover(HwlocXml{text}, "").error().message,
              "'" + shown + "': expected a topology that hwloc exported as XML");
  }
}

}  // namespace
}  // namespace pinfold::test
