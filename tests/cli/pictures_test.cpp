#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "pinfold/picture/text.hpp"
#include "run_program.hpp"
#include "temp_dir.hpp"
#include "tree_builder.hpp"

/// `pinfold who`, `--svg` and `status --watch`.
namespace pinfold {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_shell;
using testing::HasSubstr;
using testing::Not;

/// Two NUMA nodes of four CPUs in two cores.
MachineDescription machine_of_eight() {
  MachineDescription machine;
  machine.name = "node";
  for (int id = 0; id < 8; ++id) {
    machine.cpus.push_back(
        {CpuId{id}, CoreId{id / 2 * 2}, SocketId{id / 4}, NumaId{id / 4}, CacheId{id / 4}});
  }
  machine.numa_nodes = {{NumaId{0}, std::uint64_t{4} << 30U, {}, {10, 21}},
                        {NumaId{1}, std::uint64_t{4} << 30U, {}, {21, 10}}};
  return machine;
}

/// A captured tree with threads, on which shop/db has two CPUs.
class Pictures : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tree(dir_, machine_of_eight());
    std::filesystem::create_directory(dir_ / "state");
    std::filesystem::permissions(dir_ / "state", std::filesystem::perms::owner_all);
    dir_.write("config.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n");
    dir_.write("db.yaml", pod("db", 2));
    dir_.write("web.yaml", pod("web", 9));
    ASSERT_EQ(pinfold("admit", "db.yaml").status, 0);
    write_task(10, 10, "db (1) x", 'R', 2, "2-3", 0);
    write_task(10, 11, "db-io", 'S', 3, "2-3", 0);
    write_task(20, 20, "sshd", 'S', 2, "0-7", 0);
    write_task(2, 2, "kworker/2:0", 'I', 2, "2", 0x208040);
    dir_.write("proc/10/cgroup", "0::/db.slice\n");
    dir_.write("proc/20/cgroup", "0::/system.slice/ssh.service\n");
    dir_.write("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    dir_.write("proc/30/task/30/stat", "30 (broken\n");
    dir_.write("proc/30/task/30/status", "Tgid:\t30\n");
  }
  static std::string pod(const std::string& name, int cpus) {
    return fmt::format(
        "kind: Pod\nmetadata: {{name: {}, namespace: shop}}\nspec: {{containers: [{{name: main, "
        "resources: {{limits: {{cpu: {}, memory: 64Mi}}}}}}]}}\n",
        name, cpus);
  }
  void write_task(int process, int thread, const std::string& command, char state, int cpu,
                  const std::string& allowed, int flags) const {
    const std::string task = fmt::format("proc/{}/task/{}/", process, thread);
    dir_.write(task + "stat",
               fmt::format("{} ({}) {} 1 1 1 0 -1 {} 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 "
                           "0 0 0 0 0 0 17 {} 0 0 0 0 0\n",
                           thread, command, state, flags, cpu));
    dir_.write(task + "status", fmt::format("Name:\t{}\nTgid:\t{}\nCpus_allowed:\tff\n"
                                            "Cpus_allowed_list:\t{}\n",
                                            "x", process, allowed));
  }
  [[nodiscard]] std::string line(const std::string& command, const std::string& rest,
                                 const std::string& node = " --no-enforce") const {
    return fmt::format(
        "cd {} || exit; LANG=C.UTF-8 {} {} --state-dir state --config config.yaml{} {}",
        dir_.path(), PINFOLD_COMMAND, command, node, rest);
  }
  [[nodiscard]] Outcome pinfold(const std::string& command, const std::string& rest = "",
                                const std::string& node = " --no-enforce") const {
    return run_shell(line(command, "--sysfs . " + rest, node));
  }
  /// The image in a file.
  [[nodiscard]] boost::property_tree::ptree image(const std::string& name) const {
    boost::property_tree::ptree tree;
    EXPECT_NO_THROW(boost::property_tree::read_xml(dir_ / name, tree)) << name;
    return tree;
  }

  test::TempDir dir_;
};

TEST_F(Pictures, WhoNamesOwnerSiblingsAndThreads) {
  const Outcome who = pinfold("who", "2");
  EXPECT_EQ(who.status, 0) << who.err;
  EXPECT_EQ(who.out, R"(CPU 2   exclusive to shop/db/main
  siblings   3 (shop/db/main)
  NUMA node  0: CPUs 0-3, 1 free
  socket     0, L3 0

Threads on this CPU
  PID  THREAD  COMMAND      STATE          OWNER
   10      10  db (1) x     running        /sys/fs/cgroup/db.slice
   20      20  sshd         ran here last  /sys/fs/cgroup/system.slice/ssh.service
    2       2  kworker/2:0  ran here last  the kernel

What may run here
  WHAT                                     ISOLATION  PROCS  THREADS
  shop/db/main                             container      0        0
  /sys/fs/cgroup/db.slice                                 1        2  ! not the owner
  /sys/fs/cgroup/system.slice/ssh.service                 1        1  ! not the owner
  threads of the kernel                                            1
)");
}

TEST_F(Pictures, StatusFitsEightyColumns) {
  for (const char* machine : {"pack:2 core:2 pu:2", "pack:2 core:64 pu:2"}) {
    const std::string node =
        fmt::format("--state-dir wide --no-enforce --config wide.yaml --machine wide.json");
    dir_.write("wide.yaml",
               "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n"
               "cpuManagerPolicyOptions: {distribute-cpus-across-cores: 'true'}\n"
               "featureGates: {CPUManagerPolicyAlphaOptions: true}\n");
    dir_.write("wide-pod.yaml",
               pod("postgres-primary-6d5f9c7b8-x2lqv", machine[12] == '2' ? 2 : 50));
    const Outcome status =
        run_shell(fmt::format("cd {0} && rm -rf wide && {1} topology --synthetic '{2}' -o json > "
                              "wide.json && {1} admit {3} "
                              "wide-pod.yaml > /dev/null && LANG=C.UTF-8 NO_COLOR=1 script -qec "
                              "'stty cols 80; {1} status {3}' /dev/null | tr -d '\\r'",
                              dir_.path(), PINFOLD_COMMAND, machine, node));
    EXPECT_EQ(status.status, 0) << status.err;
    EXPECT_THAT(status.out, HasSubstr("shared pool: "));
    std::istringstream lines(status.out);
    for (std::string text; std::getline(lines, text);) {
      EXPECT_LE(tools::display_width(text), 80U) << text << "\n" << status.out;
    }
  }
}

TEST_F(Pictures, WhoPrintsJson) {
  const Outcome who = pinfold("who", "0,3 -o json");
  EXPECT_EQ(who.status, 0) << who.err;
  const json out = json::parse(who.out, nullptr, false);
  ASSERT_TRUE(out.is_object()) << who.out;
  ASSERT_EQ(out.at("cpus").size(), 2U);
  const json& reserved = out.at("cpus").at(0);
  EXPECT_EQ(reserved.at("use"), "reserved");
  EXPECT_EQ(reserved.at("threads"), json::array());
  ASSERT_EQ(reserved.at("mayRun").size(), 1U);
  EXPECT_EQ(reserved.at("mayRun").at(0).at("cgroupPath"),
            "/sys/fs/cgroup/system.slice/ssh.service");
  const json& taken = out.at("cpus").at(1);
  EXPECT_EQ(taken.at("id"), 3);
  EXPECT_EQ(taken.at("numa"), 0);
  EXPECT_EQ(taken.at("use"), "exclusive");
  EXPECT_EQ(taken.at("label"), "shop/db/main");
  const json owner = {{"pod", {{"uid", "shop_db"}, {"namespace", "shop"}, {"name", "db"}}},
                      {"container", "main"}};
  EXPECT_EQ(taken.at("owner"), owner);
  ASSERT_EQ(taken.at("siblings").size(), 1U);
  EXPECT_EQ(taken.at("siblings").at(0).at("id"), 2);
  EXPECT_EQ(taken.at("siblings").at(0).at("owner"), owner);
  ASSERT_EQ(taken.at("threads").size(), 1U);
  EXPECT_EQ(taken.at("threads").at(0).at("pid"), 10);
  EXPECT_EQ(taken.at("threads").at(0).at("tid"), 11);
  EXPECT_EQ(taken.at("threads").at(0).at("command"), "db-io");
}

TEST_F(Pictures, WhoRefusesOtherCpus) {
  const Outcome gone = pinfold("who", "7-8");
  EXPECT_EQ(gone.status, 2);
  EXPECT_THAT(gone.err, HasSubstr("CPUs '7-8': the machine has CPUs 0-7"));
  EXPECT_THAT(pinfold("who", "seven").err, HasSubstr("'seven'"));
}

TEST_F(Pictures, StatusDrawsAnImage) {
  const Outcome status = pinfold("status", "--svg status.svg");
  EXPECT_EQ(status.status, 0) << status.err;
  EXPECT_THAT(status.out, HasSubstr("a  2-3    shop/db/main\n"));
  const auto svg = image("status.svg");
  EXPECT_EQ(svg.get<std::string>("svg.title"), "Status of node");
  EXPECT_THAT(svg.get<std::string>("svg.desc"), HasSubstr("a: shop/db/main, CPUs 2-3."));
  const Outcome again = pinfold("status", "--svg again.svg");
  EXPECT_EQ(run_shell(fmt::format("cd {} && cmp status.svg again.svg", dir_.path())).status, 0);
  const Outcome refused = pinfold("status", "--svg none/status.svg");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--svg: write 'none/status.svg': No such file"));
}

TEST_F(Pictures, TopologyExplainAndReconfigureDrawImages) {
  const Outcome topology = run_shell(
      fmt::format("cd {} && {} topology --synthetic 'core:2 pu:1' --name n --svg t.svg -o json",
                  dir_.path(), PINFOLD_COMMAND));
  EXPECT_EQ(topology.status, 0) << topology.err;
  EXPECT_EQ(image("t.svg").get<std::string>("svg.title"), "Topology of n");

  const Outcome rejected = pinfold("explain", "--svg e.svg web.yaml", "");
  EXPECT_EQ(rejected.status, 1) << rejected.err;
  const auto drawn = image("e.svg").get<std::string>("svg.desc");
  EXPECT_THAT(drawn, HasSubstr("shop/web is rejected"));
  EXPECT_THAT(drawn, HasSubstr("Rejected, UnexpectedAdmissionError"));
  EXPECT_THAT(drawn, HasSubstr("a: shop/db/main, CPUs 2-3."));

  dir_.write("mid.yaml", pod("mid", 6));
  EXPECT_EQ(pinfold("explain", "--svg m.svg mid.yaml", "").status, 1);
  const auto lacking = image("m.svg").get<std::string>("svg.desc");
  EXPECT_THAT(lacking, HasSubstr("would be free if shop/db"));
  EXPECT_THAT(lacking, HasSubstr("shop/mid needs 6 CPUs."));

  dir_.write("small.yaml", pod("small", 1));
  EXPECT_EQ(pinfold("explain", "--svg a.svg small.yaml", "").status, 0);
  EXPECT_THAT(image("a.svg").get<std::string>("svg.desc"), HasSubstr("b: shop/small/main, CPU "));

  dir_.write("config.yaml", "cpuManagerPolicy: static\nreservedSystemCPUs: '0-2'\n");
  const Outcome planned = pinfold("reconfigure", "--dry-run --picture --svg r.svg");
  EXPECT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("changes owner"));
  const auto plan = image("r.svg").get<std::string>("svg.desc");
  EXPECT_THAT(plan, HasSubstr("before: "));
  EXPECT_THAT(plan, HasSubstr("shop/db/main, moved: CPUs 2-3 -> "));
}

TEST_F(Pictures, WatchPrintsFramesWithoutATerminal) {
  const Outcome watched = run_shell(
      line("status",
           "--watch --interval 1 --sysfs . > out & pid=$!; while ! grep -q Guaranteed "
           "out; do sleep 0.1; done; kill -TERM $pid; wait $pid; echo status $?; cat out"));
  EXPECT_THAT(watched.out, HasSubstr("status 0\n"));
  EXPECT_THAT(watched.out, HasSubstr("a  2-3   "));
  EXPECT_THAT(watched.out, Not(HasSubstr("\x1b")));
}

TEST_F(Pictures, WatchRestoresTheTerminal) {
  for (const char key : {'q', '\x03'}) {
    winsize size{};
    size.ws_row = 20;
    size.ws_col = 50;
    int terminal = -1;
    std::string command = line("status", "--watch --sysfs .");
    command.replace(command.find("LANG"), 0, "exec env ");
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
    if (child == 0) {
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    std::string out;
    std::array<char, 4096> buffer{};
    bool is_sent = false;
    // When the child has ended, reading the terminal fails with EIO.
    for (ssize_t n = 0; (n = ::read(terminal, buffer.data(), buffer.size())) > 0;) {
      out.append(buffer.data(), static_cast<std::size_t>(n));
      if (is_sent || out.find(" more)") == std::string::npos) continue;
      is_sent = ::write(terminal, &key, 1) == 1;
    }
    ::close(terminal);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << out;
    EXPECT_TRUE(out.starts_with("\x1b[?1049h\x1b[?25l\x1b[H")) << out;
    EXPECT_TRUE(out.ends_with("\x1b[?25h\x1b[?1049l")) << out;
  }
}

}  // namespace
}  // namespace pinfold
