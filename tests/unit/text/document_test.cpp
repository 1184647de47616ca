#include "pinfold/text/document.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pinfold {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(DocumentParse, YamlAndJsonGiveTheSameValue) {
  const auto yaml = parse_document("a: [1, 'x', {b: true}]\nc:\n- 1.5\n- ~\n");
  const auto text = parse_document(R"( {"a": [1, "x", {"b": true}], "c": [1.5, null]} )");
  ASSERT_TRUE(yaml) << yaml.error().message;
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*yaml, *text);
}

TEST(DocumentParse, ResolvesPlainScalarsByTheCoreSchema) {
  const struct {
    const char* scalar;
    json value;
  } cases[] = {
      {"12", 12},         {"-12", -12},        {"+12", 12},
      {"0x1F", 31},       {"0o17", 15},        {"18446744073709551615", 18446744073709551615U},
      {"1.5", 1.5},       {".5", 0.5},         {"-1e3", -1000.0},
      {"true", true},     {"False", false},    {"null", nullptr},
      {"~", nullptr},     {"", nullptr},       {"yes", "yes"},
      {"1.2.3", "1.2.3"}, {"0-3", "0-3"},      {"0,1", "0,1"},
      {"250m", "250m"},   {"0x", "0x"},        {".inf", ".inf"},
      {"1e999", "1e999"}, {"'12'", "12"},      {"\"true\"", "true"},
      {"!!str 12", "12"}, {"|\n  12", "12\n"},
  };
  for (const auto& c : cases) {
    const auto document = parse_document(std::string("v: ") + c.scalar + "\n");
    ASSERT_TRUE(document) << c.scalar << ": " << document.error().message;
    EXPECT_EQ(document->at("v"), c.value) << c.scalar;
  }
}

TEST(DocumentParse, ResolvesPlainScalarsAsAKubelet) {
  const struct {
    const char* scalar;
    json value;
  } cases[] = {
      {"yes", true},
      {"On", true},
      {"y", true},
      {"no", false},
      {"OFF", false},
      {"true", true},
      {"~", nullptr},
      {"1_10", 110},
      {"110.0", 110},
      {"-110.0", -110},
      {"0x1F", 31},
      {"0o17", 15},
      {"017", 15},
      {"0b11", 3},
      {"-0x10", -16},
      {"089", 89},
      {"+12", 12},
      {"1.5", 1.5},
      {".5", 0.5},
      {"1e3", 1000},
      {"0", 0},
      {"0-3", "0-3"},
      {"250m", "250m"},
      {"nope", "nope"},
      {"1e999", "1e999"},
      {"'no'", "no"},
      {"!!str no", "no"},
      {"--1", "--1"},
      {"18446744073709551615", 18446744073709551615U},
  };
  for (const auto& c : cases) {
    const auto document =
        parse_document(std::string("v: ") + c.scalar + "\n", DocumentRules::kKubelet);
    ASSERT_TRUE(document) << c.scalar << ": " << document.error().message;
    EXPECT_EQ(document->at("v"), c.value) << c.scalar;
    EXPECT_EQ(document->at("v").is_number_integer(), c.value.is_number_integer()) << c.scalar;
  }
}

TEST(DocumentParse, MergesMembersThatAnObjectLacks) {
  const auto document = parse_document(
      "a: &x {q: 1, r: 2}\nb: &y {r: 3, s: 4}\n"
      "c: {<<: *x, q: 5}\nd: {q: 5, <<: [*x, *y]}\ne: {'<<': 1}\n");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->at("c"), (json{{"q", 5}, {"r", 2}}));
  EXPECT_EQ(document->at("d"), (json{{"q", 5}, {"r", 2}, {"s", 4}}));
  EXPECT_EQ(document->at("e"), (json{{"<<", 1}}));
}

TEST(DocumentParse, TakesTheLastOfDuplicateKeysIfItIsLenient) {
  for (const char* const text : {"a: 1\nb: 2\na: 3", R"({"a": 1, "b": 2, "a": 3})"}) {
    EXPECT_FALSE(parse_document(text, DocumentRules::kKubelet)) << text;
    const auto document = parse_document(text, DocumentRules::kKubeletLenient);
    ASSERT_TRUE(document) << document.error().message;
    EXPECT_EQ(*document, (json{{"a", 3}, {"b", 2}})) << text;
  }
}

TEST(DocumentParse, CopiesAliasedValues) {
  const auto document = parse_document("a: &x {q: [1, &y two]}\nb: *x\nc: *y\n");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->at("b"), document->at("a"));
  EXPECT_EQ(document->at("c"), "two");
}

/// A truncated file must not pass as a shorter one.
TEST(DocumentParse, RefusesTextsThatEndTooEarly) {
  constexpr const char* kQuoted = "a quoted string that does not end: expected its closing quote";
  const struct {
    const char* name;
    std::string text;
    std::string message;  ///< "": any
  } cases[] = {
      {"double quotes", "a: 1\ncpu: \"2", std::string("line 2, column 6: ") + kQuoted},
      {"and a newline", "a: 1\ncpu: \"2\n", std::string("line 2, column 6: ") + kQuoted},
      {"single quotes", "cpu: '2", std::string("line 1, column 6: ") + kQuoted},
      {"an escaped quote", "cpu: \"2\\\"\n", kQuoted},
      {"an escaped newline", "cpu: \"2\\", "column 8: an escape in double quotes that YAML"},
      {"an escape", "cpu: \"\\x4", ""},
      {"a key", "a: 1\n\"b", kQuoted},
      {"quotes in brackets", "a: {b: \"c", kQuoted},
      {"quotes in a list", "- 'a'\n- 'b", kQuoted},
      {"the second document", "a: 1\n---\nb: \"", kQuoted},
      {"a map in braces", "a: {b: 1", ""},
      {"a list in brackets", "a: [1, 2", ""},
      {"after a comma", "a: [1,", ""},
      {"after a colon in braces", "a: {b:", ""},
      {"a key without a colon", "a: 1\nb", "line 2, column 1: key 'b': expected ':' after it"},
      {"in a list", "- a: 1\n  bc\n", "line 2, column 3: key 'bc': expected ':' after it"},
      {"before a comment", "a: 1\nb # c:\n", ""},
      {"a tag", "a: !<tag", ""},
      {"an alias", "a: *", ""},
      {"an anchor", "a: &", ""},
      {"JSON object", R"({"a": 1)", ""},
      {"JSON text", R"({"a": "x)", ""},
      {"JSON documents", "{\"a\": 1}\n---\n{\"b\": \"x", ""},
  };
  for (const auto& c : cases) {
    const auto documents = parse_documents(c.text);
    ASSERT_FALSE(documents) << c.name << ": " << json(*documents).dump();
    EXPECT_EQ(documents.error().code, ErrorCode::kInvalidArgument) << c.name;
    EXPECT_EQ(documents.error().message.find("line "), 0U)
        << c.name << ": " << documents.error().message;
    EXPECT_NE(documents.error().message.find(c.message), std::string::npos)
        << c.name << ": " << documents.error().message;
  }
}

TEST(DocumentParse, TakesWholeTextsHoweverTheyEnd) {
  const std::string texts[] = {
      "a: \"1\"",     "a: '1'\n", "a: 1\n...",    "a: 1\n...\n",  "a: 1\n---\n", "a: 1 # '",
      "a: 1\n# \"",   "{a: 1}",   "a: |\n  x \"", "a: >\n  it's", "a: it's",     "a: &x 1",
      "a: {b, c: 1}", "a: 1\nb:", "a: 1\nb :\n",  "a: 1\n? b\n",  "a: 1\n'b':",  "a: 1\n&x b:"};
  for (const std::string& text : texts) {
    const auto documents = parse_documents(text);
    ASSERT_TRUE(documents) << text << ": " << documents.error().message;
    EXPECT_EQ(documents->size(), 1U) << text;
  }
  EXPECT_TRUE(parse_documents(std::string_view()).value().empty());
  for (const char* const text : {"", "\n", "# only a comment", "---", "---\n..."}) {
    const auto documents = parse_documents(text);
    ASSERT_TRUE(documents) << text << ": " << documents.error().message;
    EXPECT_TRUE(documents->empty()) << text;
  }
}

TEST(DocumentParse, ReportsErrorsWithTheirPlace) {
  const struct {
    const char* name;
    std::string text;
    const char* message;
  } cases[] = {
      {"json key", "{\n \"a\": 1,\n}", "line 3, column 1: expected a name in double quotes"},
      {"json rest", "{} x", "line 1, column 4: text after the end of the JSON document"},
      {"json value", R"({"a": nope})",
       "line 1, column 8: expected a value: a string in double quotes, a number, true, false, "
       "null, '{' or '['"},
      {"json colon", R"({"a" 1})", "line 1, column 7: expected ':' after the name"},
      {"json comma", R"({"a": 1 "b": 2})",
       "line 1, column 11: expected ',' or '}' after the value"},
      {"json comma in a list", "[1 2]", "line 1, column 5: expected ',' or ']' after the value"},
      {"json end", R"({"a": )",
       "line 1, column 6: the text ends too early: is a quote or a closing bracket missing?"},
      {"json escape", R"({"a": "\x"})",
       "line 1, column 9: an invalid escape in a string: expected \\\", \\\\, \\/, \\b, \\f, \\n, "
       "\\r, \\t or \\uXXXX"},
      {"json duplicate", R"({"a": 1, "a": 2})", "line 1, column 12: duplicate key 'a'"},
      {"json overflow", "[1e999]", "line 1, column 7: a number that is too large"},
      {"json depth", repeat("[", 101), "line 1, column 101: nested more than 100 levels deep"},
      {"yaml flow", "a: [1", "line 2, column 1: expected ',' or ']' after the value"},
      {"yaml two colons", "a: b: c\n",
       "line 1, column 5: a ':' that is not allowed here: put a text with ': ' in quotes, and "
       "check the indentation"},
      {"yaml token", "a: @b\n",
       "line 1, column 4: a character that no value begins with, such as @ or %: put the text in "
       "quotes"},
      {"yaml duplicate", "a: 1\nb: 2\na: 3", "line 3, column 1: duplicate key 'a'"},
      {"yaml merge", "<<: 1\n", "line 1, column 5: '<<': expected an object or a list of objects"},
      {"yaml merge and duplicate", "a: &x {b: 1}\nc:\n  <<: *x\n  b: 2\n  b: 3\n",
       "line 5, column 3: duplicate key 'b'"},
      {"yaml key", "? [1]\n: 2\n",
       "line 1, column 3: expected a key that is a plain or quoted string"},
      {"yaml tag", "a: !other 1",
       "line 1, column 4: tag '!other': expected one of the core schema"},
      {"yaml own alias", "a: &x [*x]", "line 1, column 8: alias to an anchor that is not complete"},
      {"yaml no anchor", "a: *x",
       "line 1, column 4: an alias whose anchor is not defined before it"},
      {"yaml depth", "- " + repeat("[", 100) + repeat("]", 100),
       "line 1, column 102: nested more than 100 levels deep"},
      {"yaml stray comma", ", 1", "line 1, column 1: expected a value here"},
      {"yaml stray bracket", "a: 1\n---\n]", "line 3, column 1: expected a value here"},
      {"yaml control character", "a: 1\nb: \x01",
       "line 2, column 4: a control character: YAML allows only tabs and line breaks"},
      {"yaml list", "- a\nb: 1\n",
       "line 2, column 1: text that does not continue the list above: check the indentation"},
      {"yaml object", "a: 1\n b: 2\n",
       "line 2, column 3: a ':' that is not allowed here: put a text with ': ' in quotes, and "
       "check the indentation"},
      {"yaml version", "%YAML 2.0\n---\na: 1\n",
       "line 1, column 1: an invalid line that begins with '%YAML'"},
      {"yaml surrogate", "a: \"\\ud800\"",
       "line 1, column 7: an escape in double quotes with a wrong number"},
      {"yaml block text", "a: |x\n  b\n",
       "line 1, column 5: an invalid beginning of a text in lines: expected '|' or '>'"},
      {"yaml first line indented", "  apiVersion: v1\nkind: Pod\n",
       "line 2, column 1: expected the indentation of the lines before it, or '---' if another "
       "document begins here"},
      {"yaml text after the end", "a: 1\n...\nb: 2\n",
       "line 3, column 1: expected the indentation of the lines before it, or '---' if another "
       "document begins here"},
      {"yaml tab", "kind: Pod\n\tmetadata: {}\n",
       "line 2, column 1: a tab in the indentation: YAML allows only spaces"},
      {"yaml tab in a list", "a:\n  b:\n  \t- c\n",
       "line 3, column 3: a tab in the indentation: YAML allows only spaces"},
      {"yaml tab before the key", "a:\n\tb: 1\nc: 2\n",
       "line 2, column 1: a tab in the indentation: YAML allows only spaces"},
      {"yaml in flow style", "{kind: Pod, a: [1}",
       "line 1, column 18: expected ',' or ']' after the value"},
      {"not utf-8", "a: \xff", "line 1, column 4: expected UTF-8 text without NUL bytes"},
      {"overlong utf-8", "\xc0\xaf", "line 1, column 1: expected UTF-8 text without NUL bytes"},
      {"five byte utf-8", "\xf9\x80\x80\x80",
       "line 1, column 1: expected UTF-8 text without NUL bytes"},
      {"nul", std::string("a\0b", 3), "line 1, column 2: expected UTF-8 text without NUL bytes"},
      {"nothing", "# only a comment\n", "0 documents: expected one"},
      {"two", "a: 1\n---\nb: 2\n", "2 documents: expected one"},
  };
  for (const auto& c : cases) {
    const auto document = parse_document(c.text);
    ASSERT_FALSE(document) << c.name << ": " << document->dump();
    EXPECT_EQ(document.error().code, ErrorCode::kInvalidArgument) << c.name;
    EXPECT_EQ(document.error().message, c.message) << c.name;
  }
}

TEST(DocumentParse, ReadsAllEscapesOfYaml) {
  EXPECT_EQ(parse_document(R"(a: "\N\_\L\x41\u00e9\U0001F600\e\0")").value().at("a"),
            std::string("\xc2\x85\xc2\xa0\xe2\x80\xa8"
                        "A\xc3\xa9\xf0\x9f\x98\x80\x1b\0",
                        16));
}

TEST(DocumentParse, RejectsAliasesThatGrow) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += fmt::format("a{0}: &a{0} [{1}{2}]\n", i, repeat(before + ", ", 9), before);
  }
  const auto document = parse_document(bomb);
  ASSERT_FALSE(document);
  EXPECT_NE(document.error().message.find("repeat more than 1 MiB"), std::string::npos)
      << document.error().message;
}

TEST(DocumentParse, RejectsManyDirectives) {
  const auto with_directives = [](int count, const char* end_of_line) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("%TAG !{}! x{}", i, end_of_line);
    return parse_document(text + "---\na: 1\n");
  };
  EXPECT_TRUE(with_directives(100, "\n"));
  for (const char* const end_of_line : {"\n", "\r", "\xc2\x85", "\xe2\x80\xa8"}) {
    const auto document = with_directives(101, end_of_line);
    ASSERT_FALSE(document);
    EXPECT_EQ(document.error().message, "more than 100 lines that begin with '%'");
  }
}

TEST(DocumentParse, RejectsAliasesThatDeepen) {
  const std::string base = "a0: &a0 " + repeat("[", 60) + repeat("]", 60) + "\n";
  const auto above = [&](int levels) {
    return parse_document(base + "a1: " + repeat("[", levels) + "*a0" + repeat("]", levels) + "\n");
  };
  EXPECT_TRUE(above(39)) << "the map, 39 lists and 60 are 100 levels";
  const auto document = above(40);
  ASSERT_FALSE(document);
  EXPECT_NE(document.error().message.find("nested more than 100 levels"), std::string::npos)
      << document.error().message;
}

TEST(DocumentParse, RejectsMoreThan16MiB) {
  const auto document = parse_document(std::string((16U << 20U) + 1, ' '));
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().message, "16777217 bytes: expected at most 16777216");
  EXPECT_TRUE(parse_document("{" + std::string((16U << 20U) - 2, ' ') + "}"));
}

TEST(DocumentParse, SkipsAByteOrderMark) {
  EXPECT_EQ(parse_document("\xef\xbb\xbf{\"a\": 1}").value(), json({{"a", 1}}));
  EXPECT_EQ(parse_document("\xef\xbb\xbf"
                           "a: 1")
                .value(),
            json({{"a", 1}}));
}

TEST(DocumentParse, ReadsYamlInFlowStyle) {
  const json expected = {{"kind", "Pod"}, {"list", {1, "two"}}};
  for (const char* text : {"{kind: Pod, list: [1, two]}", "{ kind: Pod,\n  list: [1, two] }",
                           "{'kind': Pod, list: [1, two]}", "{# first\n kind: Pod, list: [1, two]}",
                           "{\"kind\": \"Pod\", \"list\": [1, \"two\"]}"}) {
    const auto document = parse_document(text);
    ASSERT_TRUE(document) << text << ": " << document.error().message;
    EXPECT_EQ(*document, expected) << text;
  }
  EXPECT_EQ(parse_document("[{a: 1}]").value(), json::parse(R"([{"a": 1}])"));
  EXPECT_EQ(parse_document("[1, 2]").value(), json::parse("[1, 2]"));
  EXPECT_EQ(parse_document(" {} ").value(), json::object());
}

TEST(DocumentsParse, NamesTheFormOfOtherTexts) {
  const auto error_of = [](std::string_view text) {
    const auto read = parse_documents(text);
    return read ? std::string() : read.error().message;
  };
  using namespace std::string_view_literals;
  EXPECT_EQ(error_of("\xff\xfe"
                     "a\0:\0"sv),
            "UTF-16 text, expected UTF-8: 'iconv -f UTF-16 -t UTF-8' converts it");
  EXPECT_THAT(error_of("name: {{ .Values.name }}\n"), HasSubstr("; it is a template: pass the "));
  EXPECT_EQ(error_of("name: '{{ a }}'\n"), "");
  for (const auto& [text, what] :
       {std::pair("No resources found in default namespace.\n", "an answer of kubectl that there "),
        {"Error from server (Forbidden): pods is forbidden\n", "an error of kubectl"},
        {"CONTAINER   IMAGE  CREATED\n4f5d7d  x  1 day ago\n", "a table of 'crictl ps'"},
        {"HTTP/2 200\ncontent-type: application/json\n\n{}", "an HTTP answer with its headers"},
        {"Starting pod/n1-debug ...\nkind: A\n", "the output of 'oc debug' with its messages"}}) {
    EXPECT_THAT(error_of(text), HasSubstr(what)) << text;
  }
}

TEST(DocumentsParse, ReadsJsonDocumentsWithSeparators) {
  const auto documents = parse_documents("{\"a\": 1}\n---\n{\"a\": \"2\"}\n");
  ASSERT_TRUE(documents) << documents.error().message;
  EXPECT_EQ(*documents, (std::vector<json>{{{"a", 1}}, {{"a", "2"}}}));
}

TEST(DocumentsParse, ReadsAnObjectOnEachLine) {
  const auto documents = parse_documents("{\"a\": 1}\n\n{\"b\": [\n");
  EXPECT_FALSE(documents) << "the second line is torn";
  const auto lines = parse_documents("{\"a\": 1}\n\n{\"b\": 2}\n");
  ASSERT_TRUE(lines) << lines.error().message;
  EXPECT_EQ(*lines, (std::vector<json>{{{"a", 1}}, {{"b", 2}}}));
}

TEST(DocumentsParse, ReadsAStreamWithoutItsEmptyDocuments) {
  const auto documents = parse_documents("---\na: 1\n---\n---\nb: 2\n...\n---\n");
  ASSERT_TRUE(documents) << documents.error().message;
  ASSERT_EQ(documents->size(), 2U);
  EXPECT_EQ((*documents)[1], json({{"b", 2}}));
  EXPECT_TRUE(parse_documents("").value().empty());
  const auto after_mark = parse_documents(
      "\xef\xbb\xbf"
      "a: 1\n---\nb: \xc3\xa9\n--- c\n");
  ASSERT_TRUE(after_mark) << after_mark.error().message;
  EXPECT_EQ(after_mark->size(), 3U);
}

}  // namespace
}  // namespace pinfold
