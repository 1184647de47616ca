#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "run_program.hpp"
#include "temp_dir.hpp"

/// How all commands treat their output and errors.
namespace pinfold {
namespace {

using test::Outcome;
using test::run_shell;
using testing::HasSubstr;

constexpr const char* kPod =
    "kind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main}]}\n";

class Output : public testing::Test {
 protected:
  void SetUp() override {
    dir_.write("pod.yaml", kPod);
    std::filesystem::create_directory(dir_ / "state");
    const Outcome machine = pinfold("topology --synthetic 'pack:1 core:4 pu:2' -o json");
    ASSERT_EQ(machine.status, 0) << machine.err;
    dir_.write("machine.json", machine.out);
  }

  [[nodiscard]] static Outcome pinfold(const std::string& arguments) {
    return run_shell(PINFOLD_COMMAND " " + arguments);
  }
  /// Returns a command line for the node in the directory.
  [[nodiscard]] std::string on_node(const std::string& command) const {
    return command + " --no-enforce --state-dir " + (dir_ / "state") + " --machine " +
           (dir_ / "machine.json") + " ";
  }

  test::TempDir dir_;
};

TEST_F(Output, ThatCannotBeWrittenIsAnError) {
  ASSERT_EQ(pinfold(on_node("admit") + (dir_ / "pod.yaml")).status, 0);
  const std::string state = dir_ / "state";
  const std::vector<std::string> commands = {
      "--help",
      "--help-all",
      "--version",
      "help",
      "help checkpoint",
      "status --help",
      "topology --synthetic 'pack:1 core:4 pu:2'",
      "topology --synthetic 'pack:1 core:4 pu:2' -o json",
      "topology --synthetic 'pack:1 core:4 pu:2' -o nrt",
      on_node("status"),
      on_node("who") + "0",
      on_node("noise") + "--for 1 0",
      on_node("quiet"),
      on_node("status") + "-o json",
      on_node("metrics"),
      on_node("admit") + "--dry-run " + (dir_ / "pod.yaml"),
      "explain --state-dir " + state + " --machine " + (dir_ / "machine.json") + " --pod web",
      on_node("oci-resources") + "--pod web --container main",
      "checkpoint show " + state,
      "checkpoint verify " + state,
      on_node("start") + "--pod web --container main",
      on_node("remove") + "--pod web",
  };
  for (const std::string& command : commands) {
    EXPECT_NE(pinfold(command + " --help").out, "") << command;
    const Outcome full = pinfold(command + " > /dev/full");
    const bool has_changed = command.starts_with("start ") || command.starts_with("remove ");
    EXPECT_EQ(full.status, has_changed ? 3 : 2) << command;
    EXPECT_THAT(full.err, HasSubstr("write standard output: No space left on device")) << command;
  }
}

TEST_F(Output, OfAClosedPipeIsNoError) {
  const Outcome closed =
      run_shell("(trap '' PIPE; " PINFOLD_COMMAND " --help-all; echo $? >&2) | true");
  EXPECT_EQ(closed.err, "0\n");
}

TEST_F(Output, ErrorsAreJsonIfTheOutputIs) {
  const struct {
    std::string command;
    const char* code;
    const char* message;
  } cases[] = {
      {"checkpoint show -o json /nonexistent", "not found", "'/nonexistent'"},
      {"checkpoint show --output=json /nonexistent", "not found", "'/nonexistent'"},
      {"admit --no-enforce -ojson " + dir_.path(), "invalid argument", "a directory"},
      {"status -o json --nope", "invalid argument", "'--nope': unknown option"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = pinfold(c.command);
    EXPECT_EQ(outcome.status, 2) << c.command;
    EXPECT_EQ(outcome.out, "") << c.command;
    const auto error = nlohmann::json::parse(outcome.err, nullptr, false);
    ASSERT_TRUE(error.is_object()) << outcome.err;
    EXPECT_EQ(error.at("error").at("code"), c.code) << outcome.err;
    EXPECT_THAT(error.at("error").at("message").get<std::string>(), HasSubstr(c.message));
  }
}

TEST_F(Output, WarningsAreJsonIfTheOutputIs) {
  dir_.write("config.yaml", "cpuManagerPolcy: static\n");
  const std::string config = "--config " + (dir_ / "config.yaml");
  const Outcome text = pinfold(on_node("status") + config);
  EXPECT_THAT(text.err, HasSubstr("pinfold: warning: configuration: "));
  const Outcome outcome = pinfold(on_node("status") + "-o json " + config);
  const auto warning = nlohmann::json::parse(outcome.err, nullptr, false);
  ASSERT_TRUE(warning.is_object()) << outcome.err;
  EXPECT_THAT(warning.at("warning").at("message").get<std::string>(),
              HasSubstr("'cpuManagerPolcy'"));
}

TEST_F(Output, EscapesWhatATerminalWouldObey) {
  const std::string red = "\x1b[31mred";
  dir_.write("esc/cpu_manager_state", "{");
  dir_.write(red + "/cpu_manager_state", "{");
  dir_.write(red + ".xml", "");
  const std::string commands[] = {
      on_node("start") + "--container main --pod '" + red + "'",
      "'" + red + "'",
      "status -o '" + red + "'",
      "'--" + red + "'",
      "admit '" + (dir_ / red) + "'",
      "checkpoint show '" + (dir_ / red) + "'",
      "checkpoint verify '" + (dir_ / red) + "'",
      "topology --name '" + red + "' --synthetic 'pack:1 core:4 pu:2'",
      "topology --xml '" + (dir_ / red) + ".xml'",
  };
  for (const std::string& command : commands) {
    const Outcome outcome = pinfold(command);
    const std::string all = outcome.out + outcome.err;
    EXPECT_EQ(all.find('\x1b'), std::string::npos) << all;
    EXPECT_THAT(all, HasSubstr("\\x1b[31mred")) << command;
  }
}

/// Sanitizers need more memory than the limit.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr const char* kWithin64MiB = "";
#else
constexpr const char* kWithin64MiB = "ulimit -d 65536; ";
#endif

TEST_F(Output, EndlessInputIsAnErrorWithin64MiB) {
  const std::string pod = dir_ / "pod.yaml";
  const std::string commands[] = {
      on_node("admit") + "-",
      on_node("admit") + "/dev/zero",
      on_node("admit") + "--config /dev/zero " + pod,
      "admit --no-enforce --state-dir " + (dir_ / "state") + " --machine /dev/zero " + pod,
      "predict --pod " + pod + " --nodes -",
      "predict --pod - --nodes " + (dir_ / "nodes"),
      "predict --pod " + pod + " --nodes " + (dir_ / "nodes") + " --bound /dev/zero",
      "topology --xml -",
      "simulate -",
      "simulate /dev/zero",
      "checkpoint show /dev/zero",
      "checkpoint verify /dev/zero",
      "checkpoint diff /dev/zero /dev/zero",
      "hook --no-enforce",
  };
  const Outcome nodes = pinfold("topology --synthetic 'pack:1 core:4 pu:2' -o nrt");
  dir_.write("nodes", nodes.out);
  for (const std::string& command : commands) {
    const Outcome outcome = run_shell("(" + std::string(kWithin64MiB) + PINFOLD_COMMAND " " +
                                      command + " < /dev/zero)");
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_THAT(outcome.err, HasSubstr("more than ")) << command;
  }
}

TEST_F(Output, NamesADirectoryThatIsGivenAsAFile) {
  const std::string commands[] = {
      on_node("admit") + "/tmp",
      on_node("admit") + "--config /tmp /tmp",
      "predict --nodes /tmp --pod /tmp",
      "topology --xml /tmp",
      "simulate /tmp",
  };
  for (const std::string& command : commands) {
    const Outcome outcome = pinfold(command);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_EQ(outcome.err, "pinfold: read '/tmp': a directory, expected a file\n") << command;
  }
}

TEST_F(Output, NamesAPathOnce) {
  const std::string file = dir_ / "pod.yaml";
  const std::string machine = " --machine " + (dir_ / "machine.json");
  EXPECT_EQ(pinfold("status --no-enforce --state-dir " + file + machine).err,
            "pinfold: open directory '" + file + "': Not a directory\n");
  dir_.write("state/memory_manager_state/file", "");
  EXPECT_EQ(pinfold(on_node("status")).err, "pinfold: '" + (dir_ / "state/memory_manager_state") +
                                                "' is a directory, expected a regular file\n");
}

}  // namespace
}  // namespace pinfold
