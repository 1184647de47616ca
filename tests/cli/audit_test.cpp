#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kubelet_tree.hpp"
#include "run_program.hpp"

/// `pinfold audit` on the tree of a node.
namespace pinfold {
namespace {

using test::KubeletTree;
using test::Outcome;
using test::run_shell;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Outcome audit(const std::string& root, const std::string& arguments = "") {
  return run_shell(fmt::format("env -i LANG=C.UTF-8 '{}' audit --root '{}' {}", PINFOLD_COMMAND,
                               root, arguments));
}

TEST(AuditCommand, SaysThatANodeIsInOrder) {
  const KubeletTree tree;
  const Outcome outcome = audit(tree.path());
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out,
            "OK  " + tree.path() +
                "/ (1 note)\n"
                "kubelet: process 100   CPU manager: static   state: " +
                tree.path() +
                "/var/lib/kubelet\n"
                "cgroups: v2   pods: kubepods.slice\n"
                "running containers: 3, of which 2 have exclusive CPUs   exclusive CPUs: 2-5\n"
                "\nNotes\n"
                "  sandboxes  sandboxes\n"
                "    3 of them can run on exclusive CPUs 2-5: kubelets do not pin sandboxes, and "
                "their program only sleeps\n");
}

TEST(AuditCommand, PrintsErrorsFirst) {
  const KubeletTree tree;
  tree.write_group(tree.log(), "0-2,6-7", "0-1", {1003});
  const Outcome outcome = audit(tree.path());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, StartsWith("1 error, 1 warning, 2 notes  "));
  const auto error = outcome.out.find(
      "overlap  shop/log/agent\n    can run on CPU 2, which "
      "'shop/web/app' has exclusively\n    see: cat '");
  const auto warning = outcome.out.find("cpuset-differs  shop/log/agent");
  EXPECT_NE(error, std::string::npos) << outcome.out;
  EXPECT_LT(error, warning) << outcome.out;
}

TEST(AuditCommand, FailsFromASeverityOn) {
  const KubeletTree tree;
  EXPECT_EQ(audit(tree.path(), "--fail-on note").status, 1);
  tree.write_process(70, 1, "cron", "0-7", "system.slice/cron.service");
  EXPECT_EQ(audit(tree.path()).status, 1);
  EXPECT_EQ(audit(tree.path(), "--fail-on error").status, 0);
}

TEST(AuditCommand, PrintsJson) {
  const KubeletTree tree;
  tree.write_group(tree.web(), "2", "0-1", {1001});
  const Outcome outcome = audit(tree.path(), "-o json");
  EXPECT_EQ(outcome.status, 1);
  const auto out = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(out.is_object()) << outcome.out;
  EXPECT_EQ(out["errorCount"], 1);
  EXPECT_EQ(out["findings"][0]["kind"], "cpuset-differs");
  EXPECT_EQ(out["findings"][0]["subject"]["label"], "shop/web/app");
  EXPECT_EQ(out["findings"][0]["subject"]["pod"]["name"], "web");
  EXPECT_EQ(out["findings"][0]["subject"]["container"], "app");
}

TEST(AuditCommand, MeasuresExclusiveCpusIfAsked) {
  const KubeletTree tree;
  tree.dir().write("proc/interrupts",
                   "      CPU0 CPU1 CPU2 CPU3 CPU4 CPU5 CPU6 CPU7\n"
                   "LOC:     9    9    9    9    9    9    9    9 Local timer interrupts\n");
  const Outcome outcome = audit(tree.path(), "--noise 10 -o json");
  const auto out = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(out.is_object()) << outcome.out;
  ASSERT_EQ(out["noise"]["cpus"].size(), 4U) << "CPUs 2-5";
  EXPECT_EQ(out["noise"]["cpus"][0]["cpu"], 2);
  EXPECT_EQ(out["noise"]["cpus"][0]["quietScore"], 100) << "no counter of the tree changes";
  EXPECT_THAT(audit(tree.path(), "--noise 10").out,
              HasSubstr("  CPU 5  0 interruptions/s, 0 us/s lost, quiet score 100\n"));
  const auto without = nlohmann::json::parse(audit(tree.path(), "-o json").out);
  EXPECT_TRUE(without["noise"].is_null()) << "of another root only if asked";
}

TEST(AuditCommand, EscapesNamesOfProcesses) {
  const KubeletTree tree;
  tree.write_process(70, 1, "\x1b[31mx", "2", "user.slice");
  const Outcome outcome = audit(tree.path());
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(outcome.out, HasSubstr("process 70 (\\x1b[31mx)"));
}

TEST(AuditCommand, WatchesForOverlaps) {
  const KubeletTree tree;
  EXPECT_EQ(audit(tree.path(), "--watch --for 1").out,
            "watching every 200 ms   running containers: 3, of which 2 have exclusive CPUs\n"
            "0 overlaps still open after 1 s\n");
  tree.write_group(tree.log(), "0-2,6-7", "0-1", {1003});
  const Outcome outcome = audit(tree.path(), "--watch --for 1 -o json");
  EXPECT_EQ(outcome.status, 1);
  const auto event = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(event.is_object()) << outcome.out;
  EXPECT_EQ(event["event"], "overlaps");
  EXPECT_EQ(event["pod"]["name"], "web");
  EXPECT_EQ(event["container"], "app");
  EXPECT_EQ(event["other"]["pod"]["name"], "log");
  EXPECT_EQ(event["other"]["container"], "agent");
  EXPECT_EQ(event["cpus"], "2");
}

TEST(AuditCommand, ASignalEndsTheWatchWithItsSummary) {
  const KubeletTree tree;
  const Outcome outcome = run_shell(fmt::format(
      "cd '{}' && mkfifo lines && {{ '{}' audit --root '{}' --watch >lines & }} && exec 3<lines && "
      "read -r first <&3 && kill $! && cat <&3 && wait $!",
      tree.dir().path(), PINFOLD_COMMAND, tree.path()));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("0 overlaps still open after "));
}

TEST(AuditCommand, ComparesAnAnswerOfPodResources) {
  const KubeletTree tree;
  tree.dir().write("answer", R"({"podResources":[{"name":"web","namespace":"shop",
                                 "containers":[{"name":"app","cpuIds":["3"]}]}]})");
  const Outcome outcome =
      audit(tree.path(), fmt::format("--pod-resources '{}'", tree.dir() / "answer"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("pod-resources-differ  shop/web/app"));
  EXPECT_EQ(audit(tree.path(), "--pod-resources /absent").status, 2);
}

TEST(AuditCommand, RefusesARootThatIsNone) {
  const Outcome outcome = audit("/absent");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("root '/absent'"));
  EXPECT_EQ(audit("/", "--interval 50").status, 2);
}

}  // namespace
}  // namespace pinfold
