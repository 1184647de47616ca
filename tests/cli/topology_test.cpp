#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pinfold/discover/discover.hpp"
#include "run_program.hpp"
#include "tree_builder.hpp"

namespace pinfold {
namespace {

using test::Outcome;
using test::run_shell;
using test::TempDir;

/// Runs "pinfold ARGUMENTS" in a shell with only this environment.
Outcome run(const std::string& arguments, const std::string& environment = "LANG=C.UTF-8") {
  return run_shell(fmt::format("env -i {} '{}' {}", environment, PINFOLD_COMMAND, arguments));
}

/// Runs it on a terminal of 100 columns.
std::string run_on_terminal(std::vector<std::string> arguments, const char* variable) {
  winsize size{};
  size.ws_row = 50;
  size.ws_col = 100;
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    std::string command = PINFOLD_COMMAND;
    std::vector<char*> argv = {command.data()};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    std::string lang = "LANG=C.UTF-8";
    std::string extra = variable;
    std::array<char*, 3> environment = {lang.data(), extra.data(), nullptr};
    ::execve(command.c_str(), argv.data(), environment.data());
    ::_exit(127);
  }
  std::string out;
  std::array<char, 4096> buffer{};
  // When the child has ended, reading the terminal fails with EIO.
  for (ssize_t n = 0; (n = ::read(terminal, buffer.data(), buffer.size())) > 0;) {
    out.append(buffer.data(), static_cast<std::size_t>(n));
  }
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0) << out;
  return out;
}

MachineDescription two_sockets() {
  MachineDescription machine;
  machine.name = "two";
  for (int id = 0; id < 8; ++id) {
    machine.cpus.push_back(
        {CpuId{id}, CoreId{id / 2 * 2}, SocketId{id / 4}, NumaId{id / 4}, CacheId{id / 4}});
  }
  machine.numa_nodes = {{NumaId{0}, 1U << 30U, {{"hugepages-2Mi", 1U << 21U}}, {10, 21}},
                        {NumaId{1}, 1U << 30U, {{"hugepages-2Mi", 0}}, {21, 10}}};
  return machine;
}

void write_pci(const TempDir& dir) {
  const std::string folder = "sys/bus/pci/devices/0000:81:00.0/";
  dir.write(folder + "class", "0x030200\n");
  dir.write(folder + "vendor", "0x10de\n");
  dir.write(folder + "device", "0x2330\n");
  dir.write(folder + "numa_node", "1\n");
}

TEST(TopologyCommand, PrintsTheNodeFormAsJson) {
  const TempDir dir;
  test::write_tree(dir, two_sockets());
  const Outcome outcome =
      run(fmt::format("topology --sysfs '{}' --name two --output json", dir.path()));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const auto node = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(node.is_object()) << outcome.out;
  EXPECT_EQ(node, Machine::make(two_sockets())->to_json());
}

TEST(TopologyCommand, DrawsACapturedTreeWithItsDevices) {
  const TempDir dir;
  test::write_tree(dir, two_sockets());
  write_pci(dir);
  const Outcome outcome = run(fmt::format("topology --sysfs '{}' --name two", dir.path()));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out, R"(two   2 sockets · 2 NUMA nodes · 4 cores · 8 CPUs (0-7) · 2Gi

╭─ socket 0 ─────────────────────────╮ ╭─ socket 1 ─────────────────────────╮
│ NUMA 0   1Gi   huge pages 2Mi: 2Mi │ │ NUMA 1   1Gi   huge pages 2Mi: 0   │
│         ┌─────┬─────┐              │ │         ┌─────┬─────┐              │
│   L3 0  │ 0 1 │ 2 3 │              │ │   L3 1  │ 4 5 │ 6 7 │              │
│         └─────┴─────┘              │ │         └─────┴─────┘              │
╰────────────────────────────────────╯ ╰────────────────────────────────────╯

NUMA distances   10 within a node, 21 to the other

PCI devices
  NUMA  address       kind  vendor:device
  1     0000:81:00.0  3D    10de:2330
)");
}

TEST(TopologyCommand, ListsPciDevicesAsResourcesOnRequest) {
  const TempDir dir;
  test::write_tree(dir, two_sockets());
  write_pci(dir);
  const Outcome outcome = run(
      fmt::format("topology --sysfs '{}' --device 10de:2330=nvidia.com/gpu -o json", dir.path()));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto node = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(node.is_object()) << outcome.out;
  EXPECT_EQ(node["devices"], nlohmann::json::parse(R"([{"resource": "nvidia.com/gpu",
      "id": "0000:81:00.0", "numaNodes": [1]}])"));
}

TEST(TopologyCommand, ReadsXmlFromAFileOrStandardInput) {
  const TempDir dir;
  dir.write("bad.xml", "<page>\n");
  Outcome outcome = run(fmt::format("topology --xml '{}/bad.xml'", dir.path()));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err, fmt::format("pinfold: '{}/bad.xml': '<page>...': expected a topology that "
                                     "hwloc exported as XML\n",
                                     dir.path()));
  outcome = run(fmt::format("topology --xml - <'{}/bad.xml'", dir.path()));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(outcome.err.starts_with("pinfold: standard input: '<page>")) << outcome.err;
  outcome = run("topology --xml /nowhere.xml");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err, "pinfold: read '/nowhere.xml': No such file or directory\n");
}

constexpr const char* kMachineInfo = R"({"num_cores": 2, "memory_capacity": 9000, "topology": [
  {"node_id": 0, "memory": 8000, "cores": [{"core_id": 0, "thread_ids": [0, 1], "socket_id": 0}]}]})";

TEST(TopologyCommand, TakesEveryFormOfAMachine) {
  const TempDir dir;
  const std::string in = fmt::format("cd '{}' && ", dir.path());
  const auto names = [&](const std::string& arguments) {
    const Outcome outcome = run_shell(in + "env -i LANG=C.UTF-8 '" PINFOLD_COMMAND "' topology " +
                                      arguments + " -o json");
    EXPECT_EQ(outcome.status, 0) << arguments << ": " << outcome.err;
    const auto node = nlohmann::json::parse(outcome.out, nullptr, false);
    return node.is_object()
               ? fmt::format("{} {}", node["name"].get<std::string>(), node["cpus"].size())
               : outcome.out;
  };
  const TempDir tree;
  test::write_tree(tree, two_sockets());
  (void)run_shell(in + fmt::format("cp -r '{}' node1.example.com", tree.path()));
  dir.write("worker.example.org.json", kMachineInfo);
  dir.write("one-line", "pack:2 core:2 pu:2\n");
  (void)run_shell(in + "gzip -k worker.example.org.json && '" PINFOLD_COMMAND
                       "' topology --machine node1.example.com -o json > own.json");
  for (const char* option : {"--machine", "--sysfs"}) {
    EXPECT_EQ(names(option + std::string(" node1.example.com")), "node1.example.com 8");
  }
  EXPECT_EQ(names("--machine worker.example.org.json"), "worker.example.org 2");
  EXPECT_EQ(names("--machine worker.example.org.json.gz"), "worker.example.org 2");
  EXPECT_EQ(names("--machine - < worker.example.org.json.gz"), "machine 2");
  EXPECT_EQ(names("--machine own.json"), "node1.example.com 8");
  EXPECT_EQ(names("--machine own.json --name other"), "other 8");
  EXPECT_EQ(names("--machine one-line"), "synthetic 8");
  EXPECT_EQ(names("--machine 'pack:2 core:2 pu:1'"), "synthetic 4");
  dir.write("cut.gz", "\x1f\x8b\x08");
  EXPECT_EQ(run_shell(in + PINFOLD_COMMAND " topology --machine cut.gz").err,
            "pinfold: read 'cut.gz': a damaged or incomplete gzip file\n");
}

TEST(TopologyCommand, NamesTheFileAndTheValueOfABadTree) {
  const TempDir dir;
  test::write_tree(dir, two_sockets());
  dir.write("sys/devices/system/node/node1/distance", "21 ten\n");
  const Outcome outcome = run(fmt::format("topology --sysfs '{}'", dir.path()));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            fmt::format("pinfold: '{}/sys/devices/system/node/node1/distance': '21 ten': expected "
                        "distances such as '10 21'\n",
                        dir.path()));
}

TEST(TopologyCommand, NamesAnArchiveOfATree) {
  const TempDir dir;
  for (const char* const size : {"1K", "20M"}) {  // the second is more than it reads
    const Outcome made = run_shell(
        fmt::format("cd '{}' && truncate -s {} sys && tar -czf a.tgz sys", dir.path(), size));
    ASSERT_EQ(made.status, 0) << made.err;
    const Outcome outcome = run(fmt::format("topology --machine '{}/a.tgz'", dir.path()));
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find("it is a tar archive: unpack it"), std::string::npos) << outcome.err;
  }
}

TEST(TopologyCommand, RefusesBadUsage) {
  const struct {
    const char* arguments;
    const char* message;
  } cases[] = {
      {"topology --synthetic 'core:0 pu:1'",
       "synthetic topology 'core:0 pu:1': expected hwloc's form"},
      {"topology --synthetic 'pu:1' --xml a.xml", "--xml excludes --synthetic"},
      {"topology --synthetic 'pu:1' --device gpu", "--device: device rule 'gpu': expected"},
      {"topology --synthetic 'pu:1' -o yaml", "yaml"},
      {"topology --sysfs ''", "open '': No such file"},
      {"topology --synthetic 'pack:1 core:4'",
       "synthetic topology 'pack:1 core:4': expected 'pu:N' (threads per core) as the last level, "
       "in hwloc's form"},
      {"topology --synthetic ''", "synthetic topology '': expected 'pu:N'"},
      {"topology extra", "extra"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = run(c.arguments);
    EXPECT_EQ(outcome.status, 2) << c.arguments;
    EXPECT_NE(outcome.err.find(c.message), std::string::npos) << c.arguments << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << c.arguments;
  }
}

TEST(TopologyCommand, IgnoresHwlocsEnvironmentVariables) {
  const Outcome outcome = run("topology --synthetic pu:2 --name a -o json",
                              "HWLOC_SYNTHETIC=pu:4 HWLOC_FSROOT=/nowhere HWLOC_XMLFILE=/nowhere");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["cpus"].size(), 2U);
}

TEST(TopologyCommand, DrawsAsciiOutsideUtf8) {
  const Outcome outcome = run("topology --synthetic 'core:2 pu:1'", "LANG=C");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("| 0 | 1 |"), std::string::npos) << outcome.out;
}

TEST(TopologyCommand, ColoursOnATerminalUnlessDisabled) {
  const std::vector<std::string> arguments = {"topology", "--synthetic", "core:2 pu:1"};
  EXPECT_NE(run_on_terminal(arguments, "TERM=xterm").find('\x1b'), std::string::npos);
  EXPECT_EQ(run_on_terminal(arguments, "NO_COLOR=1").find('\x1b'), std::string::npos);
  EXPECT_EQ(run_on_terminal(arguments, "TERM=dumb").find('\x1b'), std::string::npos);
  EXPECT_EQ(run("topology --synthetic 'core:2 pu:1'").out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace pinfold
