#include "pinfold/checkpoint/go_json.hpp"

#include <gtest/gtest.h>

#include <map>

#include "pinfold/checkpoint/go_dump.hpp"

namespace pinfold::checkpoint {
namespace {

TEST(Fnv1a32, MatchesPublishedVectors) {
  EXPECT_EQ(fnv1a_32(""), 0x811c9dc5U);
  EXPECT_EQ(fnv1a_32("a"), 0xe40c292cU);
  EXPECT_EQ(fnv1a_32("foobar"), 0xbf9cf968U);
}

TEST(GoDump, PrintsTypesOfFieldsOnly) {
  GoDump dump;
  dump.type("*state.T");
  dump.open_struct();
  dump.field("Name", "name", "string");
  dump.string("x y");
  dump.field("Map", "map", "map[int]*state.U");
  dump.open_map();
  dump.key(std::int64_t{2});
  dump.pointer();
  dump.open_struct();
  dump.field("Ids", "ids", "[]int");
  dump.open_array();
  dump.element();
  dump.number(std::int64_t{-1});
  dump.element();
  dump.number(std::uint64_t{18446744073709551615U});
  dump.close_array();
  dump.close_struct();
  dump.key(std::int64_t{10});
  dump.null();
  dump.close_map();
  dump.close_struct();
  EXPECT_EQ(dump.text(),
            "(*state.T){Name:(string)x y Map:(map[int]*state.U)map[2:<*>{Ids:([]int)[-1 "
            "18446744073709551615]} 10:<nil>]}");
}

TEST(JsonWriter, EscapesAsGoDoes) {
  struct Case {
    std::string_view text;
    std::string_view json;
  };
  constexpr Case kCases[] = {
      {"plain ~\x7f", "\"plain ~\x7f\""},
      {"\"\\/", R"("\"\\/")"},
      {"\b\f\n\r\t\x01", R"("\b\f\n\r\t\u0001")"},
      {"<a>&", R"("\u003ca\u003e\u0026")"},
      {"\xc3\xa9\xf0\x9f\x98\x80", "\"\xc3\xa9\xf0\x9f\x98\x80\""},
      {"\xe2\x80\xa8\xe2\x80\xa9", R"("\u2028\u2029")"},
      {"\xff\xc0\x80\xed\xa0\x80", R"("\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd")"},
  };
  for (const Case& c : kCases) {
    JsonWriter json;
    json.string(c.text);
    EXPECT_EQ(json.text(), c.json) << testing::PrintToString(c.text);
  }
}

TEST(JsonSyntax, AcceptsWhatGoAccepts) {
  const std::string deep = std::string(10000, '[') + std::string(10000, ']');
  for (const std::string_view text :
       {std::string_view("{}"), std::string_view(" [ ] "), std::string_view("-0.5e+10"),
        std::string_view("\"\xff\x7f\\ud800\""), std::string_view("\"\\u09af\\uAFff\""),
        std::string_view("[[],{\"a\":[1,{}]},null]"), std::string_view(deep)}) {
    EXPECT_EQ(json_syntax_error(text), std::nullopt) << text;
  }
}

TEST(JsonSyntax, NamesTheCharacterInGoWords) {
  struct Case {
    std::string_view text;
    std::string_view error;
  };
  constexpr std::string_view kEnd = "unexpected end of JSON input";
  const std::string deep(10001, '[');
  const Case cases[] = {
      {"", kEnd},
      {" ", kEnd},
      {"{", kEnd},
      {"[1", kEnd},
      {"\"a", kEnd},
      {"\"\\", "invalid character ' ' in string escape code"},
      {"\"\\u12", "invalid character ' ' in \\u hexadecimal character escape"},
      {"-", "invalid character ' ' in numeric literal"},
      {"1.", "invalid character ' ' after decimal point in numeric literal"},
      {"1e", "invalid character ' ' in exponent of numeric literal"},
      {"tr", "invalid character ' ' in literal true (expecting 'u')"},
      {"{\"a\"", kEnd},
      {"{\"a\":1,", kEnd},
      {"x", "invalid character 'x' looking for beginning of value"},
      {"\xef\xbb\xbf{}", "invalid character '\xc3\xaf' looking for beginning of value"},
      {std::string_view("\0", 1), R"(invalid character '\x00' looking for beginning of value)"},
      {"'", R"(invalid character '\'' looking for beginning of value)"},
      {"[1,]", "invalid character ']' looking for beginning of value"},
      {"{,", "invalid character ',' looking for beginning of object key string"},
      {"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"},
      {"{\"a\" 1}", "invalid character '1' after object key"},
      {"{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"},
      {"[1 2]", "invalid character '2' after array element"},
      {"01", "invalid character '1' after top-level value"},
      {"-a", "invalid character 'a' in numeric literal"},
      {"1.a", "invalid character 'a' after decimal point in numeric literal"},
      {"1e+a", "invalid character 'a' in exponent of numeric literal"},
      {"trUe", "invalid character 'U' in literal true (expecting 'u')"},
      {"\"\n\"", R"(invalid character '\n' in string literal)"},
      {"\"\\x\"", "invalid character 'x' in string escape code"},
      {"\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"},
      {deep, "invalid character '[' exceeded max depth"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(json_syntax_error(c.text), c.error) << testing::PrintToString(c.text.substr(0, 40));
  }
}

TEST(JsonReader, UnquotesAsGoDoes) {
  struct Case {
    std::string_view json;
    std::string_view text;
  };
  constexpr Case kCases[] = {
      {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
      {R"("\u00e9\u20ac")", "\xc3\xa9\xe2\x82\xac"},
      {R"("\ud83d\ude00")", "\xf0\x9f\x98\x80"},
      {R"("\ud83d\u0041")",
       "\xef\xbf\xbd"
       "A"},
      {R"("\ud83d")", "\xef\xbf\xbd"},
      {R"("\ude00x")", "\xef\xbf\xbdx"},
      {"\"\xff\"", "\xef\xbf\xbd"},
  };
  for (const Case& c : kCases) {
    std::string text;
    JsonReader(c.json).read(text);
    EXPECT_EQ(text, c.text) << c.json;
  }
}

TEST(JsonReader, RecordsTheFirstMismatchAndReadsOn) {
  JsonReader json(R"({"a":[1],"b":"x","c":{"d":true,"e":7}})");
  std::uint64_t a = 5;
  std::string b;
  std::uint64_t e = 0;
  const auto read_a = [&] { json.read(a); };
  const auto read_b = [&] { json.read(b); };
  const auto read_e = [&] { json.read(e); };
  const auto read_c = [&] {
    json.structure("p.Inner", JsonReader::Field{"d", read_b}, JsonReader::Field{"e", read_e});
  };
  json.structure("p.Outer", JsonReader::Field{"a", read_a}, JsonReader::Field{"b", read_b},
                 JsonReader::Field{"c", read_c});
  EXPECT_EQ(json.error(),
            "json: cannot unmarshal array into Go struct field Outer.a of type uint64");
  EXPECT_EQ(a, 5U);
  EXPECT_EQ(b, "x");
  EXPECT_EQ(e, 7U);
}

TEST(JsonReader, NamesTheInnermostStructAndTheWholePath) {
  JsonReader json(R"({"c":{"x":{"d":1}}})");
  std::string d;
  const auto read_d = [&] { json.read(d); };
  const auto read_c = [&] {
    json.map("map[string]p.Inner", [&](const std::string&) {
      json.structure("p.Inner", JsonReader::Field{"d", read_d});
    });
  };
  json.structure("p.Outer", JsonReader::Field{"c", read_c});
  EXPECT_EQ(json.error(),
            "json: cannot unmarshal number into Go struct field Inner.c.d of type string");
}

TEST(JsonReader, ReadsNumbersOfTheirTypeOnly) {
  for (const std::string_view token : {"-1", "1.0", "1e3", "18446744073709551616"}) {
    JsonReader json(token);
    std::uint64_t out = 3;
    json.read(out);
    EXPECT_EQ(json.error(), "json: cannot unmarshal number " + std::string(token) +
                                " into Go value of type uint64");
    EXPECT_EQ(out, 3U);
  }
}

}  // namespace
}  // namespace pinfold::checkpoint
