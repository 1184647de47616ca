#include "pinfold/checkpoint/sealed.hpp"

#include <gtest/gtest.h>

namespace pinfold::checkpoint {
namespace {

std::string refusal(std::string_view text) {
  const auto body = unseal("kind", text);
  return body ? "" : body.error().message;
}

TEST(Unseal, ReturnsWhatWasSealed) {
  for (const std::string body : {"", "{}", "one\ntwo\n"}) {
    const std::string sealed = seal("kind", body);
    EXPECT_EQ(unseal("kind", sealed).value(), body);
  }
  EXPECT_EQ(unseal("kind", "{\"of\": 1}").value(), "{\"of\": 1}") << "of an earlier version";
}

TEST(Unseal, NamesBothFirstLinesIfTheChecksumIsWrong) {
  const std::string right = seal("kind", "body");
  const std::string line = right.substr(0, right.find('\n'));
  const std::string other = seal("kind", "Body");
  EXPECT_EQ(refusal(line + "\nBody"), "wrong checksum: the first line is '" + line +
                                          "', expected '" + other.substr(0, other.find('\n')) +
                                          "'");
}

TEST(Unseal, RefusesAnotherFirstLine) {
  for (const std::string& text : {seal("other", "body"), std::string("body"), std::string()}) {
    EXPECT_EQ(refusal(text), "expected a first line '#kind crc64 CHECKSUM'") << text;
  }
}

}  // namespace
}  // namespace pinfold::checkpoint
