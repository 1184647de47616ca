#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "pinfold/fields/json.hpp"
#include "pinfold/fields/types.hpp"

/// Writer, reader and schema of a type that has members of every kind.
namespace pinfold::fields {
namespace {

using nlohmann::json;
using testing::HasSubstr;

enum class Colour { kRed, kBlue };
std::string_view to_string(Colour colour) { return colour == Colour::kRed ? "red" : "blue"; }
std::span<const Colour> enumerators(Colour /*type*/) {
  static constexpr std::array kAll = {Colour::kRed, Colour::kBlue};
  return kAll;
}

/// A value with a custom format.
struct Secret {
  std::string value;

  friend bool operator==(const Secret&, const Secret&) = default;
};
void describe_value(Fields& fields, Secret& secret) {
  fields.foreign({"Secret", "A secret.",
                  [&] {
                    return json{{"said", secret.value}};
                  },
                  [&](const json& value) -> Result<void> {
                    if (!value.is_object() || !value.contains("said")) {
                      return fail(ErrorCode::kInvalidArgument, "it says nothing");
                    }
                    secret.value = value.at("said").get<std::string>();
                    return {};
                  }});
}

struct Part {
  std::string name;
  std::optional<CpuSet> cpus;

  friend bool operator==(const Part&, const Part&) = default;
};
void describe(Fields& fields, Part& part) {
  fields.type("Part", "A part.");
  fields.member("name", part.name, "Its name.");
  fields.member("cpus", part.cpus, "Null: none.");
}

struct Left {
  bool is_far = false;

  friend bool operator==(const Left&, const Left&) = default;
};
void describe(Fields& fields, Left& left) {
  fields.type("Left", "To the left.");
  fields.may_lack("far", left.is_far, "");
}

struct Whole {
  std::string text;
  bool is_ok = false;
  std::uint64_t count = 0;
  std::int32_t offset = 0;
  std::uint32_t level = 0;
  double share = 0;
  CpuSet cpus;
  std::chrono::nanoseconds took{0};
  std::optional<std::chrono::milliseconds> waited;
  Colour colour = Colour::kRed;
  std::vector<Part> parts;
  std::map<std::string, std::vector<std::string>> devices;
  Secret secret;
  std::optional<std::string> extra;
  std::vector<std::string> notes;
  std::variant<Left, Part> way;

  friend bool operator==(const Whole&, const Whole&) = default;
};
constexpr std::array<Alternative, 2> kWays = {{{"left", "Go left."}, {"through", "Go through."}}};
void describe(Fields& fields, Whole& whole) {
  fields.type("Whole", "All kinds of members.");
  fields.member("text", whole.text, "A text.");
  fields.member("ok", whole.is_ok, "");
  fields.member("count", whole.count, "");
  fields.member("offset", whole.offset, "");
  fields.member("level", up_to(whole.level, std::uint32_t{9}), "");
  fields.member("share", whole.share, "");
  fields.member("cpus", whole.cpus, "");
  fields.member("tookSeconds", whole.took, "");
  fields.member("waitedSeconds", whole.waited, "");
  fields.member("colour", whole.colour, "");
  fields.member("parts", whole.parts, "");
  fields.member("devices", whole.devices, "");
  fields.member("secret", whole.secret, "");
  fields.if_set("extra", whole.extra, "");
  fields.may_lack("notes", whole.notes, "");
  fields.computed("partCount", whole.parts.size(), "");
  fields.alternatives(whole.way, kWays, "a way");
  if (whole.text == "wrong") fields.refuse("text", "expected another text");
}

Whole a_whole() {
  Whole whole;
  whole.text = "a \"text\"";
  whole.is_ok = true;
  whole.count = std::numeric_limits<std::uint64_t>::max();
  whole.offset = -5;
  whole.level = 9;
  whole.share = 0.25;
  whole.cpus = CpuSet{0, 1, 2, 8};
  whole.took = std::chrono::nanoseconds(1'500'000'007);
  whole.waited = std::chrono::milliseconds(20);
  whole.colour = Colour::kBlue;
  whole.parts = {{"a", CpuSet{3}}, {"b", std::nullopt}};
  whole.devices = {{"example.com/gpu", {"0", "1"}}};
  whole.secret.value = "s";
  whole.extra = "more";
  whole.notes = {"n"};
  whole.way = Part{"w", std::nullopt};
  return whole;
}

std::string error_of(const json& value, ReadOptions options = {}) {
  const auto read = fields::read<Whole>(value, std::move(options));
  return read ? "" : read.error().message;
}

TEST(FieldsWriter, WritesEveryKindOfMember) {
  EXPECT_EQ(to_json(a_whole()), json::parse(R"({
    "text": "a \"text\"", "ok": true, "count": 18446744073709551615, "offset": -5, "level": 9,
    "share": 0.25, "cpus": "0-2,8", "tookSeconds": 1.500000007, "waitedSeconds": 0.02,
    "colour": "blue", "parts": [{"name": "a", "cpus": "3"}, {"name": "b", "cpus": null}],
    "devices": {"example.com/gpu": ["0", "1"]}, "secret": {"said": "s"}, "extra": "more",
    "notes": ["n"], "partCount": 2, "through": {"name": "w", "cpus": null}})"));
}

TEST(FieldsWriter, LeavesOutOnlyWhatIsWrittenIfSet) {
  const json written = to_json(Whole());
  EXPECT_FALSE(written.contains("extra"));
  EXPECT_TRUE(written.at("waitedSeconds").is_null());
  EXPECT_EQ(written.at("notes"), json::array());
  EXPECT_EQ(written.at("left"), (json{{"far", false}}));
}

TEST(FieldsWriter, ChangesNothing) {
  static const Whole kWhole = a_whole();  // may be in read-only memory
  (void)to_json(kWhole);
  EXPECT_EQ(kWhole, a_whole());
}

TEST(FieldsReader, ReadsWhatTheWriterWrites) {
  for (const Whole& whole : {Whole(), a_whole()}) {
    const json written = to_json(whole);
    const auto read = fields::read<Whole>(written);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, whole) << written;
    EXPECT_EQ(fields::read<Whole>(json::parse(written.dump())).value(), whole) << "from text";
  }
}

TEST(FieldsReader, TakesWhatMayLack) {
  json written = to_json(a_whole());
  for (const char* const name : {"waitedSeconds", "extra", "notes", "partCount"}) {
    written.erase(name);
  }
  written.at("parts").at(1).erase("cpus");
  Whole expected = a_whole();
  expected.waited.reset();
  expected.extra.reset();
  expected.notes.clear();
  EXPECT_EQ(fields::read<Whole>(written).value(), expected);
  for (const char* const name : {"waitedSeconds", "extra", "notes"}) written[name] = nullptr;
  EXPECT_EQ(fields::read<Whole>(written).value(), expected) << "null is the same as absent";
}

TEST(FieldsReader, NamesWhatIsWrong) {
  const struct {
    const char* pointer;
    json value;
    const char* message;
  } cases[] = {
      {"/text", 3, "text: 3: expected a string"},
      {"/text", nullptr, "text: missing"},
      {"/text", "wrong", "text: expected another text"},
      {"/ok", "yes", "ok: 'yes': expected true or false"},
      {"/count", -1, "count: -1: expected a whole number from 0 to 18446744073709551615"},
      {"/count", 1.5, "count: 1.5: expected a whole number from 0 to 18446744073709551615"},
      {"/offset", 2147483648U,
       "offset: 2147483648: expected a whole number from -2147483648 to 2147483647"},
      {"/offset", std::numeric_limits<std::uint64_t>::max(),
       "offset: 18446744073709551615: expected a whole number from -2147483648 to 2147483647"},
      {"/level", 10, "level: 10: expected a whole number from 0 to 9"},
      {"/share", "half", "share: 'half': expected a number"},
      {"/cpus", 7, "cpus: 7: expected a string"},
      {"/cpus", "2-1", "cpus: '2-1': expected a list as \"0-3,8\""},
      {"/tookSeconds", -1, "tookSeconds: -1: expected a number of seconds from 0 to 1000000"},
      {"/tookSeconds", "1s", "tookSeconds: '1s': expected a number of seconds from 0 to 1000000"},
      {"/colour", "green", "colour: 'green': expected 'red' or 'blue'"},
      {"/colour", 1, "colour: 1: expected 'red' or 'blue'"},
      {"/parts", json::object(), "parts: an object: expected a list"},
      {"/parts/1", "b", "parts[1]: 'b': expected an object"},
      {"/parts/1/name", 4, "parts[1].name: 4: expected a string"},
      {"/parts/1/size", 4, "parts[1].size: 4: expected no such member"},
      {"/devices", json::array(), "devices: a list: expected an object"},
      {"/devices/example.com~1gpu/1", 1, "devices.example.com/gpu[1]: 1: expected a string"},
      {"/secret", 1, "secret: it says nothing"},
      {"/through/cpus", 4, "through.cpus: 4: expected a string"},
      {"/left", json::object(), "document: an object: expected an object with one member"},
  };
  for (const auto& c : cases) {
    json value = to_json(a_whole());
    value[json::json_pointer(c.pointer)] = c.value;
    EXPECT_EQ(error_of(value), c.message) << c.pointer;
  }
  EXPECT_EQ(error_of(json::array()), "document: a list: expected an object");
  EXPECT_EQ(error_of(json::object(), {.path = "admit"}), "admit.text: missing");
  json other = to_json(a_whole());
  other.erase("through");
  other["back"] = json::object();
  EXPECT_EQ(error_of(other, {.whole = "message"}), "message: 'back': expected the name of a way");
}

TEST(FieldsReader, IgnoresUnknownMembersIfAskedTo) {
  json value = to_json(a_whole());
  value["parts"][0]["size"] = 4;
  EXPECT_EQ(error_of(value), "parts[0].size: 4: expected no such member");
  EXPECT_EQ(error_of(value, {.unknown = UnknownMembers::kIgnore}), "");
}

TEST(FieldsReader, ReportsTheFirstErrorOnly) {
  json value = to_json(a_whole());
  value["cpus"] = 7;
  value["colour"] = 7;
  value["parts"] = 7;
  EXPECT_EQ(error_of(value), "cpus: 7: expected a string");
}

TEST(FieldsSchema, DescribesEveryKindOfMember) {
  const json schema = fields::schema<Whole>("A whole");
  EXPECT_EQ(schema.at("$schema"), "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema.at("title"), "A whole");
  EXPECT_EQ(schema.at("$ref"), "#/$defs/Whole");
  const json& whole = schema.at("$defs").at("Whole");
  EXPECT_EQ(whole.at("additionalProperties"), false);
  EXPECT_EQ(whole.at("description"), "All kinds of members.");
  const json& properties = whole.at("properties");
  EXPECT_EQ(properties.at("text"), json::parse(R"({"type": "string", "description": "A text."})"));
  EXPECT_EQ(properties.at("level"),
            json::parse(R"({"type": "integer", "minimum": 0, "maximum": 9})"));
  EXPECT_EQ(properties.at("cpus"), json::parse(R"({"$ref": "#/$defs/CpuSet"})"));
  EXPECT_EQ(properties.at("colour"), json::parse(R"({"type": "string", "enum": ["red", "blue"]})"));
  EXPECT_EQ(properties.at("waitedSeconds"),
            json::parse(R"({"type": ["number", "null"], "minimum": 0})"));
  EXPECT_EQ(properties.at("parts"),
            json::parse(R"({"type": "array", "items": {"$ref": "#/$defs/Part"}})"));
  EXPECT_EQ(properties.at("devices").at("additionalProperties").at("type"), "array");
  EXPECT_EQ(schema.at("$defs").at("Part").at("properties").at("cpus").at("anyOf").at(0),
            json::parse(R"({"$ref": "#/$defs/CpuSet"})"));
  EXPECT_EQ(whole.at("required"),
            json::parse(R"(["text", "ok", "count", "offset", "level", "share", "cpus",
                            "tookSeconds", "waitedSeconds", "colour", "parts", "devices", "secret",
                            "partCount"])"));
  EXPECT_EQ(whole.at("oneOf"),
            json::parse(R"([{"required": ["left"]}, {"required": ["through"]}])"));
}

TEST(SharedTypes, HaveTheirCanonicalShapes) {
  EXPECT_EQ(to_json(ContainerRef{{PodUid("u"), "shop", "web"}, "main"}),
            json::parse(R"({"pod": {"uid": "u", "namespace": "shop", "name": "web"},
                            "container": "main"})"));
  EXPECT_EQ(to_json(Rejection{"r", "m", "c"}),
            json::parse(R"({"reason": "r", "message": "m", "cause": "c"})"));
  EXPECT_EQ(to_json(Error{ErrorCode::kNotFound, 2, "m"}),
            json::parse(R"({"code": "not found", "errno": 2, "message": "m"})"));
  EXPECT_EQ(to_json(Trace{{{"cpu", "c", "t"}}}),
            json::parse(R"([{"source": "cpu", "object": "c", "text": "t"}])"));
  const auto error = fields::read<Error>(json::parse(R"({"code": "odd", "message": "m"})"));
  ASSERT_FALSE(error);
  EXPECT_THAT(error.error().message, HasSubstr("code: 'odd': expected 'invalid argument', "));
}

}  // namespace
}  // namespace pinfold::fields
