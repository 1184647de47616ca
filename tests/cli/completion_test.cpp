#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_program.hpp"
#include "temp_dir.hpp"

/// The completions in the shells themselves.
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

class BashCompletion : public testing::Test {
 protected:
  void SetUp() override {
    dir_.write("pod-a.yaml", "kind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c}]}\n");
    dir_.write("pod-b.yaml",
               "kind: Pod\nmetadata: {name: db, namespace: shop}\n"
               "spec: {containers: [{name: c}]}\n");
    dir_.write("state-1/file", "");
  }

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

  test::TempDir dir_;
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
  const std::string machine = dir_ / "machine.json";
  const std::string node = "--state-dir " + (dir_ / "state") + " --machine " + machine;
  ASSERT_EQ(run_shell(PINFOLD_COMMAND " topology --synthetic 'pack:1 core:2 pu:1' -o json > " +
                      machine + " && " PINFOLD_COMMAND " admit --no-enforce " + node + " " +
                      (dir_ / "pod-a.yaml") + " " + (dir_ / "pod-b.yaml"))
                .status,
            0);
  for (const char* command : {"start", "remove", "oci-resources"}) {
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

TEST(ZshCompletion, ParsesAndOffersEveryLevel) {
  if (run_shell("command -v zsh").status != 0) GTEST_SKIP() << "zsh is not installed";
  const std::string file = PINFOLD_MANUAL_DIR "/_pinfold";
  const Outcome parsed = run_shell("zsh -n " + file);
  EXPECT_EQ(parsed.status, 0) << parsed.err;
  // The functions of zsh's completion are replaced by ones that print what they are given.
  const std::string head =
      "_describe() { print -l -- ${(P)2} }\n_arguments() { print -l -- \"$@\" }\n";
  const auto offered = [&](const std::string& words, int current) {
    return run_shell(fmt::format("zsh -f -c '{}words=({}); CURRENT={}; PREFIX=\"\"; source {}'",
                                 head, words, current, file))
        .out;
  };
  EXPECT_THAT(offered("pinfold \"\"", 2), HasSubstr("checkpoint:Inspect"));
  EXPECT_THAT(offered("pinfold checkpoint \"\"", 3), HasSubstr("verify:Check"));
  EXPECT_THAT(offered("pinfold checkpoint convert \"\"", 4),
              AllOf(HasSubstr("--to["), HasSubstr("(cpu-v1 cpu-v2 cpu-v3 cpu-v4")));
  EXPECT_THAT(offered("pinfold status \"\"", 3), Not(HasSubstr("checkpoint")));
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
