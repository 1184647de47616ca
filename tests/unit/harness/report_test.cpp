#include "pinfold/harness/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pinfold::harness {
namespace {

ScenarioResult failed_one() {
  ScenarioResult result;
  result.name = "a<b>";
  result.verdict = Verdict::kPanic;
  result.message = "it \"panicked\" & ended";
  result.console = "line\x01 <tag>";
  result.elapsed = Milliseconds(1250);
  return result;
}

TEST(ReportJunit, EscapesWhatXmlForbids) {
  const std::string xml = report_junit({failed_one()});
  EXPECT_NE(xml.find("tests=\"1\" failures=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("name=\"a&lt;b&gt;\" time=\"1.250\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("message=\"it &quot;panicked&quot; &amp; ended\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("line? &lt;tag&gt;"), std::string::npos) << xml;
}

TEST(ReportJson, IsGoodWhenEveryScenarioEndedAsItMust) {
  ScenarioResult expected_panic = failed_one();
  expected_panic.expected = Verdict::kPanic;
  EXPECT_EQ(report_json({expected_panic})["good"], true);
  EXPECT_EQ(report_json({expected_panic, failed_one()})["good"], false);
  expected_panic.because = "panicked";
  EXPECT_TRUE(expected_panic.good());
  expected_panic.because = "something else";
  EXPECT_FALSE(expected_panic.good()) << "the right verdict for the wrong reason";
  EXPECT_EQ(report_json({failed_one()})["scenarios"][0]["verdict"], "panic");
}

TEST(ContainerTable, AlignsColumnsAndMarksWhatIsWrong) {
  ContainerRow row;
  row.decided = {"guaranteed/app", "container", "/cg", "2-3", "0"};
  row.kernel = {"2-3", "0", true, "2-3", "0", "0"};
  ContainerRow wrong = row;
  wrong.checks.push_back({"what", "1", "2", false});
  const std::string table = container_table({row, wrong});
  EXPECT_EQ(table,
            "                           decided     kernel: cpuset.*.effective  process            "
            "pages on\n"
            "container       isolation  cpus  mems  cpus  mems                  Cpus_allowed_list  "
            "nodes     verdict\n"
            "guaranteed/app  container  2-3   0     2-3   0                     2-3                "
            "0         ok\n"
            "guaranteed/app  container  2-3   0     2-3   0                     2-3                "
            "0         WRONG\n");
}

}  // namespace
}  // namespace pinfold::harness
