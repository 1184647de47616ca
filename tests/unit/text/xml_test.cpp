#include "pinfold/text/xml.hpp"

#include <gtest/gtest.h>

namespace pinfold {
namespace {

TEST(EscapeXml, ReplacesWhatEndsATextOrAnAttribute) {
  EXPECT_EQ(escape_xml(R"(a<b> & "c" 'd')"), "a&lt;b&gt; &amp; &quot;c&quot; 'd'");
  EXPECT_EQ(escape_xml("&amp;"), "&amp;amp;");
  EXPECT_EQ(escape_xml(""), "");
}

}  // namespace
}  // namespace pinfold
