#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "run_program.hpp"
#include "temp_dir.hpp"

/// Runs the completions in the shells themselves.
namespace pinfold {
namespace {

using test::Outcome;
using test::run_shell;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// Files in a directory, and a node there.
class ShellCompletion : public testing::Test {
 protected:
  void SetUp() override {
    dir_.write("pod-a.yaml",
               "kind: Pod\nmetadata: {name: web}\n"
               "spec: {containers: [{name: app}, {name: log}]}\n");
    dir_.write("pod-b.yaml",
               "kind: Pod\nmetadata: {name: db, namespace: shop}\n"
               "spec: {containers: [{name: c}]}\n");
    dir_.write("state-1/file", "");
  }

  /// Admits the pods of both files below "state"; returns the machine's file.
  [[nodiscard]] std::string admit_pods() const {
    std::string machine = dir_ / "machine.json";
    const Outcome outcome = run_shell(
        PINFOLD_COMMAND " topology --synthetic 'pack:1 core:2 pu:1' -o json > " + machine +
        " && " PINFOLD_COMMAND " admit --no-enforce --state-dir " + (dir_ / "state") +
        " --machine " + machine + " " + (dir_ / "pod-a.yaml") + " " + (dir_ / "pod-b.yaml"));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return machine;
  }

  test::TempDir dir_;
  const std::string programs_ = std::filesystem::path(PINFOLD_COMMAND).parent_path();
};

class BashCompletion : public ShellCompletion {
 protected:
  /// The words offered for the last of `words`, in the directory of the test.
  [[nodiscard]] std::vector<std::string> offered(const std::vector<std::string>& words) const {
    dir_.write("complete.sh",
               fmt::format("set -u\ncd {0}\nsource {1}/pinfold.bash\n"
                           "COMP_WORDS=({2} {3})\nCOMP_CWORD={4}\n_pinfold\n"
                           "for word in \"${{COMPREPLY[@]}}\"; do echo \"$word\"; done\n",
                           dir_.path(), PINFOLD_MANUAL_DIR, PINFOLD_COMMAND, fmt::join(words, " "),
                           words.size()));
    const Outcome outcome = run_shell("bash " + (dir_ / "complete.sh"));
    EXPECT_EQ(outcome.err, "") << fmt::format("{}", fmt::join(words, " "));
    return lines_of(outcome.out);
  }
};

TEST_F(BashCompletion, OffersCommandsAndOptions) {
  EXPECT_THAT(offered({"st"}), UnorderedElementsAre("start", "status"));
  EXPECT_THAT(offered({"checkpoint", "''"}),
              IsSupersetOf({"show", "convert", "diff", "repair", "verify"}));
  EXPECT_THAT(offered({"audit", "--fail-on", "w"}), ElementsAre("warning"));
  EXPECT_THAT(offered({"checkpoint", "show", "--o"}), ElementsAre("--output"));
  EXPECT_THAT(offered({"status", "--state"}), ElementsAre("--state-dir"));
  EXPECT_THAT(offered({"help", "chec"}), ElementsAre("checkpoint"));
  EXPECT_THAT(offered({"wh"}), ElementsAre("who"));
  EXPECT_THAT(offered({"who", "p"}), ElementsAre());  // a list of CPUs, not a file
}

TEST_F(BashCompletion, OffersOptionsAfterAPositionalArgument) {
  EXPECT_THAT(offered({"admit", "pod-a.yaml", "--dry"}), ElementsAre("--dry-run"));
  EXPECT_THAT(offered({"admit", "--profile", "fixed", "pod-a.yaml", "--expl"}),
              ElementsAre("--explain"));
  EXPECT_THAT(offered({"admit", "pod-a.yaml", "-o", "j"}), ElementsAre("json"));
}

TEST_F(BashCompletion, OffersValues) {
  EXPECT_THAT(offered({"status", "--profile", "''"}),
              ElementsAre("kubelet-1.36", "kubelet-1.37", "kubelet-1.38", "fixed"));
  EXPECT_THAT(offered({"predict", "--scoring", "Most"}), ElementsAre("MostAllocated"));
  EXPECT_THAT(offered({"checkpoint", "convert", "--to", "cpu-v"}),
              ElementsAre("cpu-v1", "cpu-v2", "cpu-v3", "cpu-v4"));
  EXPECT_THAT(offered({"status", "--output", "=", "js"}), ElementsAre("json"));
  EXPECT_THAT(offered({"status", "--output", "="}), ElementsAre("text", "json", "name"));
  EXPECT_THAT(offered({"topology", "--name", "''"}), ElementsAre());
}

TEST_F(BashCompletion, OffersFilesAndDirectories) {
  EXPECT_THAT(offered({"admit", "pod"}), UnorderedElementsAre("pod-a.yaml", "pod-b.yaml"));
  EXPECT_THAT(offered({"predict", "--pod", "pod-a"}), ElementsAre("pod-a.yaml"));
  EXPECT_THAT(offered({"status", "--state-dir", "''"}), ElementsAre("state-1"));
}

TEST_F(BashCompletion, OffersThePodsOfTheState) {
  const std::string machine = admit_pods();
  for (const char* command : {"start", "remove", "oci-resources", "explain"}) {
    EXPECT_THAT(offered({command, "--state-dir", "state", "--machine", machine, "--pod", "''"}),
                UnorderedElementsAre("default/web", "shop/db"))
        << command;
  }
  EXPECT_THAT(
      offered({"remove", "--state-dir", "=", "state", "--machine", machine, "--pod", "=", "sh"}),
      ElementsAre("shop/db"));
  EXPECT_THAT(offered({"remove", "--state-dir", "none", "--machine", machine, "--pod", "''"}),
              ElementsAre());
}

TEST_F(BashCompletion, OffersTheContainersOfAPod) {
  const std::string machine = admit_pods();
  for (const char* command : {"start", "remove", "oci-resources"}) {
    EXPECT_THAT(offered({command, "--state-dir", "state", "--machine", machine, "--pod",
                         "default/web", "--container", "''"}),
                UnorderedElementsAre("app", "log"))
        << command;
  }
  EXPECT_THAT(offered({"start", "--state-dir", "state", "--machine", machine, "--pod", "=",
                       "shop/db", "--container", "c"}),
              ElementsAre("c"));
  EXPECT_THAT(offered({"start", "--state-dir", "state", "--machine", machine, "--pod", "none",
                       "--container", "''"}),
              ElementsAre());
  // The pod is not known yet.
  EXPECT_THAT(offered({"start", "--state-dir", "state", "--machine", machine, "--container", "''"}),
              ElementsAre());
}

class ZshCompletion : public ShellCompletion {
 protected:
  void SetUp() override {
    if (run_shell("command -v zsh").status != 0) GTEST_SKIP() << "zsh is not installed";
    ShellCompletion::SetUp();
  }

  /// Returns the arguments of zsh's completion functions, which are replaced by functions that
  /// print them.
  [[nodiscard]] std::string offered(const std::string& words, int current,
                                    const std::string& then = "") const {
    return run_shell(fmt::format("cd {} && PATH={}:$PATH zsh -f -c '{}words=({}); CURRENT={}; "
                                 "PREFIX=\"\"; source {} {}'",
                                 dir_.path(), programs_,
                                 "_describe() { print -l -- ${(P)2} }\n_arguments() { print -l -- "
                                 "\"$@\" }\ncompadd() { print -l -- ${(P)2} }\n",
                                 words, current, kFile, then))
        .out;
  }

  static constexpr const char* kFile = PINFOLD_MANUAL_DIR "/_pinfold";
};

TEST_F(ZshCompletion, ParsesAndOffersEveryLevel) {
  const Outcome parsed = run_shell(std::string("zsh -n ") + kFile);
  EXPECT_EQ(parsed.status, 0) << parsed.err;
  EXPECT_THAT(offered("pinfold \"\"", 2), HasSubstr("checkpoint:Inspect"));
  EXPECT_THAT(offered("pinfold checkpoint \"\"", 3), HasSubstr("verify:Check"));
  EXPECT_THAT(offered("pinfold checkpoint convert \"\"", 4),
              AllOf(HasSubstr("--to["), HasSubstr("(cpu-v1 cpu-v2 cpu-v3 cpu-v4")));
  EXPECT_THAT(offered("pinfold status \"\"", 3), Not(HasSubstr("checkpoint")));
}

TEST_F(ZshCompletion, OffersPodsAndContainers) {
  const std::string node = "start --state-dir state --machine=" + admit_pods();
  // As _arguments runs the action: with the words of the subcommand.
  const auto run = [&](const std::string& words, int current, const std::string& with) {
    const std::string action =
        fmt::format("> /dev/null; words=({} {}); CURRENT={}; _pinfold_run \"{}\" \"{}\"", node,
                    words, current, "status -o name --no-enforce", with);
    return lines_of(offered("pinfold \"\"", 2, action));
  };
  EXPECT_THAT(offered("pinfold start \"\"", 3),
              HasSubstr("{_pinfold_run \"status -o name --no-enforce\" \"--pod\"}"));
  EXPECT_THAT(run("--pod", 6, ""), UnorderedElementsAre("default/web", "shop/db"));
  EXPECT_THAT(run("--pod web --container", 8, "--pod"), UnorderedElementsAre("app", "log"));
  EXPECT_THAT(run("--pod=shop/db --container", 7, "--pod"), UnorderedElementsAre("c"));
  EXPECT_THAT(run("--container", 6, "--pod"), ElementsAre());
}

class FishCompletion : public ShellCompletion {
 protected:
  void SetUp() override {
    if (run_shell("command -v fish").status != 0) GTEST_SKIP() << "fish is not installed";
    ShellCompletion::SetUp();
  }

  /// The words offered at the end of a line, without their descriptions.
  [[nodiscard]] std::vector<std::string> offered(const std::string& line) const {
    const Outcome outcome =
        run_shell(fmt::format("cd {0} && HOME={0} PATH={1}:$PATH fish --no-config -c 'source "
                              "{2}/pinfold.fish; complete -C \"pinfold {3}\"'",
                              dir_.path(), programs_, PINFOLD_MANUAL_DIR, line));
    EXPECT_EQ(outcome.err, "") << line;
    std::vector<std::string> words = lines_of(outcome.out);
    for (std::string& word : words) word = word.substr(0, word.find('\t'));
    return words;
  }
};

TEST_F(FishCompletion, OffersCommandsOptionsAndValues) {
  EXPECT_THAT(offered("st"), UnorderedElementsAre("start", "status"));
  EXPECT_THAT(offered("checkpoint ver"), Contains("verify"));
  EXPECT_THAT(offered("status --state"), Contains("--state-dir"));
  EXPECT_THAT(offered("audit --fail-on w"), ElementsAre("warning"));
}

TEST_F(FishCompletion, OffersPodsAndContainers) {
  const std::string node = "start --state-dir state --machine=" + admit_pods();
  EXPECT_THAT(offered(node + " --pod "), UnorderedElementsAre("default/web", "shop/db"));
  EXPECT_THAT(offered(node + " --pod web --container "), UnorderedElementsAre("app", "log"));
  EXPECT_THAT(offered(node + " --pod=shop/db --container "), ElementsAre("c"));
  EXPECT_THAT(offered(node + " --container "), ElementsAre());
}

TEST(ManPage, HasEverySectionAndNoRoffError) {
  const std::string file = PINFOLD_MANUAL_DIR "/pinfold.1";
  const Outcome page = run_shell("cat " + file);
  for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "EXIT STATUS",
                              "EXAMPLES", "ENVIRONMENT", "FILES", "SEE ALSO"}) {
    EXPECT_THAT(lines_of(page.out), Contains(std::string(".SH ") + section));
  }
  const Outcome help = run_shell(PINFOLD_COMMAND " --help");
  for (const char* section : {"Exit status:", "Examples:", "Environment:", "See also:"}) {
    EXPECT_THAT(lines_of(help.out), Contains(section));
  }
  if (run_shell("command -v groff").status != 0) GTEST_SKIP() << "groff is not installed";
  const Outcome rendered = run_shell("groff -man -Tutf8 -ww -z " + file);
  EXPECT_EQ(rendered.err, "");
}

}  // namespace
}  // namespace pinfold
