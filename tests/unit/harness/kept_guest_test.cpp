#include "pinfold/harness/kept_guest.hpp"

#include <gtest/gtest.h>

namespace pinfold::harness {
namespace {

TEST(ParseKeptGuest, ReadsWhatWasWritten) {
  const auto guest = parse_kept_guest(
      R"({"name": "a on debian-6.1/v2", "message": "step 2 (x): y", "command": ["qemu", "-m", "1G"]})");
  ASSERT_TRUE(guest) << guest.error().message;
  EXPECT_EQ(guest->name, "a on debian-6.1/v2");
  EXPECT_EQ(guest->message, "step 2 (x): y");
  EXPECT_EQ(guest->command, (std::vector<std::string>{"qemu", "-m", "1G"}));
}

TEST(ParseKeptGuest, NamesTheInvalidField) {
  const std::pair<const char*, const char*> cases[] = {
      {"[", "expected a JSON object"},
      {R"({"name": 3})", "name: expected a string"},
      {R"({"name": "a"})", "message: expected a string"},
      {R"({"name": "a", "message": "b"})", "command: expected a list of strings"},
      {R"({"name": "a", "message": "b", "command": []})", "command: expected a list of strings"},
      {R"({"name": "a", "message": "b", "command": [3]})", "command: expected a list of strings"},
  };
  for (const auto& [text, message] : cases) {
    const auto guest = parse_kept_guest(text);
    ASSERT_FALSE(guest) << text;
    EXPECT_EQ(guest.error().message, message);
  }
}

}  // namespace
}  // namespace pinfold::harness
