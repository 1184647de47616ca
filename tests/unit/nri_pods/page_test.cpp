#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace pinfold::nri {
namespace {

std::set<std::string> all_tests() {
  std::set<std::string> names;
  const auto& tests = *testing::UnitTest::GetInstance();
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *tests.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      names.insert(std::string(suite.name()) + "." + suite.GetTestInfo(j)->name());
    }
  }
  return names;
}

TEST(NriPage, EachNamedTestExists) {
  std::ifstream file(PINFOLD_NRI_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::regex name("`((?:Nri|QosOf)[A-Za-z]+\\.[A-Z][A-Za-z0-9]+)`");
  const std::set<std::string> tests = all_tests();
  std::size_t count = 0;
  for (std::sregex_iterator match(page.begin(), page.end(), name), end; match != end; ++match) {
    EXPECT_TRUE(tests.contains((*match)[1].str())) << (*match)[1].str();
    ++count;
  }
  EXPECT_GT(count, 20U);
}

}  // namespace
}  // namespace pinfold::nri
