#include "pinfold/text/base64.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pinfold {
namespace {

/// The test vectors of RFC 4648, section 10.
TEST(DecodeBase64, TestVectors) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("Zg=="), "f");
  EXPECT_EQ(decode_base64("Zm8="), "fo");
  EXPECT_EQ(decode_base64("Zm9v"), "foo");
  EXPECT_EQ(decode_base64("Zm9vYg=="), "foob");
  EXPECT_EQ(decode_base64("Zm9vYmE="), "fooba");
  EXPECT_EQ(decode_base64("Zm9vYmFy"), "foobar");
}

TEST(DecodeBase64, EveryByte) {
  EXPECT_EQ(decode_base64("AP+A"), std::string("\0\xff\x80", 3));
  EXPECT_EQ(decode_base64("+/+/"), "\xfb\xff\xbf");
}

TEST(DecodeBase64, EndsAtTheFirstOtherCharacter) {
  EXPECT_EQ(decode_base64("Zm9v\nYmFy"), "foo");
  EXPECT_EQ(decode_base64("Zm9v-mFy"), "foo");
}

}  // namespace
}  // namespace pinfold
