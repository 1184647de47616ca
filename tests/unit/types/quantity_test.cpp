#include "pinfold/types/quantity.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace pinfold {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
using Format = Quantity::Format;

Quantity parse(const char* text) {
  const auto quantity = Quantity::parse(text);
  EXPECT_TRUE(quantity) << text;
  return quantity.value_or(Quantity{});
}

TEST(QuantityParse, ReadsEverySuffix) {
  const struct {
    const char* text;
    std::int64_t value;
    Format format;
  } cases[] = {
      {"0", 0, Format::kDecimalSi},
      {"2000000000n", 2, Format::kDecimalSi},
      {"2000000u", 2, Format::kDecimalSi},
      {"2000m", 2, Format::kDecimalSi},
      {"2", 2, Format::kDecimalSi},
      {"2k", 2'000, Format::kDecimalSi},
      {"2M", 2'000'000, Format::kDecimalSi},
      {"2G", 2'000'000'000, Format::kDecimalSi},
      {"2T", 2'000'000'000'000, Format::kDecimalSi},
      {"2P", 2'000'000'000'000'000, Format::kDecimalSi},
      {"2E", 2'000'000'000'000'000'000, Format::kDecimalSi},
      {"2Ki", std::int64_t{2} << 10, Format::kBinarySi},
      {"2Mi", std::int64_t{2} << 20, Format::kBinarySi},
      {"2Gi", std::int64_t{2} << 30, Format::kBinarySi},
      {"2Ti", std::int64_t{2} << 40, Format::kBinarySi},
      {"2Pi", std::int64_t{2} << 50, Format::kBinarySi},
      {"2Ei", std::int64_t{2} << 60, Format::kBinarySi},
      {"2e3", 2'000, Format::kDecimalExponent},
      {"2E3", 2'000, Format::kDecimalExponent},
      {"2e+3", 2'000, Format::kDecimalExponent},
      {"2000e-3", 2, Format::kDecimalExponent},
      {"+2", 2, Format::kDecimalSi},
      {"-2", -2, Format::kDecimalSi},
      {"002.50k", 2'500, Format::kDecimalSi},
      {"1.5Gi", 1'610'612'736, Format::kBinarySi},
      {"0.0001Ki", 1, Format::kDecimalSi},
      {".5", 1, Format::kDecimalSi},
      {"5.", 5, Format::kDecimalSi},
  };
  for (const auto& c : cases) {
    const Quantity quantity = parse(c.text);
    EXPECT_EQ(quantity.value(), c.value) << c.text;
    EXPECT_EQ(quantity.format(), c.format) << c.text;
  }
}

TEST(QuantityParse, RejectsWithKubernetesText) {
  constexpr const char* kPattern =
      "quantities must match the regular expression "
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  constexpr const char* kSuffix = "unable to parse quantity's suffix";
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"", kPattern},      {"x", kPattern},
      {"1 ", kPattern},    {" 1", kPattern},
      {"1x", kPattern},    {"1.2.3", kPattern},
      {"1e--5", kPattern}, {"1+1M", kPattern},
      {"1e3.5", kPattern}, {"10%", kPattern},
      {"1i", kSuffix},     {"1K", kSuffix},
      {"1ki", kSuffix},    {"1mi", kSuffix},
      {"1g", kPattern},    {"1e", kSuffix},
      {"1e-", kSuffix},    {"1ee5", kSuffix},
      {"1Ei5", kSuffix},   {"1e99999999999999999999", kSuffix},
  };
  for (const auto& c : cases) {
    const auto quantity = Quantity::parse(c.text);
    ASSERT_FALSE(quantity) << c.text;
    EXPECT_EQ(quantity.error().code, ErrorCode::kInvalidArgument) << c.text;
    EXPECT_EQ(quantity.error().message, c.message) << c.text;
  }
}

TEST(QuantityParse, RoundsAwayFromZeroToNano) {
  EXPECT_EQ(parse("0.1n"), parse("1n"));
  EXPECT_EQ(parse("-0.1n"), parse("-1n"));
  EXPECT_EQ(parse("1.0000000001"), parse("1000000001n"));
  EXPECT_EQ(parse("1e-30"), parse("1n"));
  EXPECT_EQ(parse("0.0000000000"), Quantity{});
  // 0.3 of 2^30 is exactly 322122547.2: parsing must not lose or add a fraction.
  EXPECT_EQ(parse("0.3Gi"), parse("322122547200m"));
  EXPECT_EQ(parse("0.30000000000000000001Gi"), parse("322122547200000001n"));
  EXPECT_EQ(parse("0.3000000000000Gi"), parse("0.3Gi"));
  EXPECT_EQ(parse("0.0000000005Gi"), parse("536870912n"));
  EXPECT_EQ(parse("0.0000000009Ki"), parse("922n")) << "921.6";
}

TEST(QuantityParse, CapsBinaryAmountsAtInt64) {
  EXPECT_EQ(parse("8Ei").value(), kMax);
  EXPECT_EQ(parse("8Ei"), parse("9223372036854775807"));
  EXPECT_EQ(parse("-8Ei"), parse("-9223372036854775807"));
  EXPECT_EQ(parse("99999999999999999999999999999999999999999Ki"), parse("8Ei"));
}

TEST(QuantityParse, KeepsLargeDecimalAmountsAndStopsAtALimit) {
  EXPECT_GT(parse("10E"), parse("8Ei"));
  EXPECT_EQ(parse("10E").value(), kMax);
  EXPECT_EQ(parse("1e999999999"), parse("1e28"));
  EXPECT_EQ(parse("1e28") + parse("1e28"), parse("1e28"));
  EXPECT_EQ(parse("-1e28") - parse("1e28"), parse("-1e28"));
}

TEST(QuantityToString, IsCanonical) {
  const struct {
    const char* text;
    const char* canonical;
  } cases[] = {
      {"0", "0"},
      {"0Ki", "0"},
      {"1500m", "1500m"},
      {"1.5", "1500m"},
      {"0.5", "500m"},
      {"1000m", "1"},
      {"1000", "1k"},
      {"1000000", "1M"},
      {"1234567", "1234567"},
      {"1000E", "1000E"},
      {"100n", "100n"},
      {"1024Ki", "1Mi"},
      {"1025Ki", "1025Ki"},
      {"1536Mi", "1536Mi"},
      {"1.5Gi", "1536Mi"},
      {"0.5Ki", "512"},
      {"0.1Ki", "102400m"},
      {"1.1Ki", "1126400m"},
      {"1Ei", "1Ei"},
      {"8Ei", "9223372036854775807"},
      {"-1Ki", "-1Ki"},
      {"-1.5", "-1500m"},
      {"1e3", "1e3"},
      {"1e4", "10e3"},
      {"1E-3", "1e-3"},
      {"12e0", "12"},
      {"2748779069440m", "2748779069440m"},
  };
  for (const auto& c : cases) EXPECT_EQ(parse(c.text).to_string(), c.canonical) << c.text;
}

TEST(Quantity, ValueAndMilliValueRoundAwayFromZero) {
  const struct {
    const char* text;
    std::int64_t value;
    std::int64_t milli;
  } cases[] = {
      {"1", 1, 1000},        {"1001m", 2, 1001}, {"1n", 1, 1},        {"1500u", 1, 2},
      {"-1001m", -2, -1001}, {"-1n", -1, -1},    {"1.0001", 2, 1001},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(parse(c.text).value(), c.value) << c.text;
    EXPECT_EQ(parse(c.text).milli_value(), c.milli) << c.text;
  }
  EXPECT_EQ(parse("1Ei").milli_value(), kMax);
  EXPECT_EQ(parse("-1Ei").milli_value(), -kMax);
}

TEST(Quantity, AsInt64SucceedsByTheSpelling) {
  const struct {
    const char* text;
    bool succeeds;
  } cases[] = {
      {"0", true},
      {"0.0", true},
      {"0.0Gi", false},
      {"1.5Gi", false},
      {"1536Mi", true},
      {"1.5G", true},
      {"1.5k", true},
      {"1.0005k", false},
      {"1000m", false},
      {"10e-1", false},
      {"1.0e1", true},
      {"1.0", false},
      {"1Ti", true},
      {"100Ti", false},
      {"1Pi", false},
      {"0001Ti", true},
      {"1E", true},
      {"123456789012345678", true},
      {"1234567890123456789", false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(parse(c.text).as_int64_succeeds(), c.succeeds) << c.text;
  }
  EXPECT_TRUE(parse("1.5Gi").canonical().as_int64_succeeds());
  EXPECT_FALSE((parse("1.5Gi") + parse("1Gi")).as_int64_succeeds());
  EXPECT_FALSE((Quantity{} + parse("1.5Gi")).as_int64_succeeds());
  EXPECT_TRUE((parse("1Gi") + parse("1Gi")).as_int64_succeeds());
}

TEST(Quantity, SumsTakeTheFormatOfTheFirstThatIsNotZero) {
  EXPECT_EQ((Quantity{} + parse("1Gi")).to_string(), "1Gi");
  EXPECT_EQ((parse("1Gi") + parse("1073741824")).to_string(), "2Gi");
  EXPECT_EQ((parse("1073741824") + parse("1Gi")).to_string(), "2147483648");
  EXPECT_EQ((Quantity{} - parse("1Gi")).to_string(), "-1Gi");
  EXPECT_EQ((parse("1Gi") - parse("1")).to_string(), "1073741823");
}

TEST(Quantity, ComparesByAmount) {
  EXPECT_EQ(parse("1000m"), parse("1"));
  EXPECT_EQ(parse("1Ki"), parse("1024"));
  EXPECT_LT(parse("-1"), parse("0"));
  EXPECT_LT(parse("1G"), parse("1Gi"));
  EXPECT_EQ(parse("-1n").sign(), -1);
  EXPECT_EQ(Quantity{}.sign(), 0);
  EXPECT_TRUE(parse("2000m").is_whole());
  EXPECT_FALSE(parse("2001m").is_whole());
}

TEST(Quantity, SaysWhatToWriteInstead) {
  EXPECT_EQ(expected_quantity("much"), "expected an amount such as 2, 500m or 1Gi");
  EXPECT_EQ(expected_quantity("1 gb"),
            "expected an amount with a unit Ki Mi Gi Ti or k M G T; did you mean 1G or 1Gi?");
}

}  // namespace
}  // namespace pinfold
