#include "pinfold/quiet/kept_knobs.hpp"

#include <gtest/gtest.h>

namespace pinfold::quiet {
namespace {

const KeptKnobs kKept = {{{KnobKind::kIrqbalance, ""}, {"", {"1"}, true}},
                         {{KnobKind::kInterrupt, "24"}, {"0-7", {"0-1", "0-2"}}},
                         {{KnobKind::kUnit, "system.slice"}, {"", {"0-1"}}}};

TEST(KeptKnobs, AreReadAsTheyWereWritten) {
  EXPECT_EQ(decode_kept(encode_kept(kKept, "boot"), "boot").value(), kKept);
  EXPECT_EQ(decode_kept(encode_kept({}, "boot"), "boot").value(), KeptKnobs{});
}

TEST(KeptKnobs, AreNothingAfterAReboot) {
  EXPECT_TRUE(decode_kept(encode_kept(kKept, "boot"), "another").value().empty());
}

TEST(KeptKnobs, RejectDamage) {
  for (
      const char* const text :
      {"", "x", "[]", "{}", R"({"version":2,"bootId":"b","knobs":[]})",
       R"({"version":1,"bootId":"b","knobs":[{"kind":"x","name":"","before":"","ours":[],"isWritten":false}]})"}) {
    const auto decoded = decode_kept(text, "b");
    ASSERT_FALSE(decoded) << text;
    EXPECT_EQ(decoded.error().code, ErrorCode::kCorrupt) << text;
  }
}

}  // namespace
}  // namespace pinfold::quiet
