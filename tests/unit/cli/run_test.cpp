#include "pinfold/cli/run.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pinfold::cli {
namespace {

enum class Colour { kRed, kBlue };

/// A program with an option of each type, and a group with one command.
struct Sample {
  bool flag = false;
  std::string text = "before";
  std::optional<std::string> maybe;
  std::vector<std::string> list;
  int count = 3;
  int many = 1;
  double scale = 1;
  Colour colour = Colour::kBlue;
  std::string word = "on";
  std::string ran;
  std::string error;
  bool is_usage_error = false;

  [[nodiscard]] Command program() {
    Command work{"work", "Work"};
    work.add({{"--flag", &flag, "A flag"},
              {"-t,--text", &text, "A text"},
              {.name = "--maybe",
               .target = &maybe,
               .help = "A text or none",
               .value = "WORD",
               .excludes = {"--text"}},
              {.name = "--count",
               .target = Integer{&count, 1, 9},
               .help = "A number",
               .needs = "--flag"},
              {"--many", Integer{&many, 1, std::numeric_limits<int>::max()}, "A number"},
              {"--scale", Real{&scale, 0.5, 2}, "A number"},
              {"--colour", one_of<Colour>(colour, {{"red", Colour::kRed}, {"blue", Colour::kBlue}}),
               "A colour"},
              {"--word", one_of(word, {"on", "off"}), "A word"},
              {.name = "ITEM", .target = &list, .help = "Items", .required = true}});
    work.run = [this] {
      ran = "work";
      return 7;
    };
    Command deep{"deep", "Deep"};
    deep.run = [this] {
      ran = "deep";
      return 0;
    };
    return {.name = "sample",
            .help = "A sample",
            .commands = {work,
                         {.name = "group", .help = "A group", .commands = {deep}},
                         help_command("sample help work")},
            .version = "1.2"};
  }

  int run_with(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "sample");
    return run(program(), static_cast<int>(arguments.size()), arguments.data(),
               [this](const std::string& message, bool is_usage) {
                 error = message;
                 is_usage_error = is_usage;
               });
  }
};

TEST(CliRun, StoresEveryTypeOfValueAndRunsTheCommand) {
  Sample sample;
  EXPECT_EQ(sample.run_with({"work", "--flag", "-t", "after", "--count", "4", "--scale", "0.5",
                             "--colour", "red", "--word", "off", "a", "b"}),
            7);
  EXPECT_EQ(sample.ran, "work");
  EXPECT_TRUE(sample.flag);
  EXPECT_EQ(sample.text, "after");
  EXPECT_EQ(sample.count, 4);
  EXPECT_EQ(sample.scale, 0.5);
  EXPECT_EQ(sample.colour, Colour::kRed);
  EXPECT_EQ(sample.word, "off");
  EXPECT_EQ(sample.list, (std::vector<std::string>{"a", "b"}));
}

TEST(CliRun, KeepsInitialValuesAsDefaults) {
  Sample sample;
  EXPECT_EQ(sample.run_with({"work", "a"}), 7);
  EXPECT_FALSE(sample.flag);
  EXPECT_EQ(sample.text, "before");
  EXPECT_EQ(sample.maybe, std::nullopt);
  EXPECT_EQ(sample.count, 3);
  EXPECT_EQ(sample.colour, Colour::kBlue);
}

TEST(CliRun, DistinguishesAnEmptyTextFromNone) {
  Sample sample;
  EXPECT_EQ(sample.run_with({"work", "--maybe", "", "a"}), 7);
  EXPECT_EQ(sample.maybe, "");
}

/// An unset variable of a shell is no value: a command must not ignore the option.
TEST(CliRun, AnEmptyValueIsAnError) {
  for (const auto& arguments : {std::vector<const char*>{"work", "-t", "", "a"},
                                {"work", "a", "--text", ""},
                                {"work", "--text=", "a"}}) {
    Sample sample;
    EXPECT_EQ(sample.run_with(arguments), 2);
    EXPECT_EQ(sample.ran, "");
    EXPECT_NE(sample.error.find(": '': expected"), std::string::npos) << sample.error;
  }
}

TEST(CliRun, RunsACommandOfAGroup) {
  Sample sample;
  EXPECT_EQ(sample.run_with({"group", "deep"}), 0);
  EXPECT_EQ(sample.ran, "deep");
}

TEST(CliRun, RunsNothingAfterAUsageError) {
  const struct {
    std::vector<const char*> arguments;
    const char* message;
  } cases[] = {
      {{}, "expected a command: work, group or help (see 'sample --help')"},
      {{"group"}, "expected a command: deep (see 'sample group --help')"},
      {{"wrok"}, "'wrok': unknown command, did you mean 'work'? (see 'sample --help')"},
      {{"else"}, "'else': unknown command, expected work, group or help (see 'sample --help')"},
      {{"group", "depe"},
       "'depe': unknown command, did you mean 'deep'? (see 'sample group --help')"},
      {{"help", "wrok"}, "'wrok': unknown command, did you mean 'work'? (see 'sample --help')"},
      {{"work"}, "ITEM is required (see 'sample work --help')"},
      {{"work", "--txet", "a"},
       "'--txet': unknown option, did you mean '--text'? (see 'sample work --help')"},
      {{"work", "--zzzz=1", "a"}, "'--zzzz': unknown option (see 'sample work --help')"},
      {{"--versoin"},
       "'--versoin': unknown option, did you mean '--version'? (see 'sample --help')"},
      {{"work", "--count", "3", "a"}, "--count requires --flag (see 'sample work --help')"},
      {{"work", "--flag", "--count", "10", "a"},
       "--count: '10': expected 1 to 9 (see 'sample work --help')"},
      {{"work", "--many", "0", "a"}, "--many: '0': expected 1 or more (see 'sample work --help')"},
      {{"work", "--scale", "fast", "a"},
       "--scale: 'fast': expected 0.5 to 2 (see 'sample work --help')"},
      {{"work", "--colour", "green", "a"},
       "--colour: 'green': expected red or blue (see 'sample work --help')"},
      {{"work", "--maybe", "x", "--text", "y", "a"},
       "--text excludes --maybe (see 'sample work --help')"},
      {{"work", "a", "--text"}, "--text: expected a value: TEXT (see 'sample work --help')"},
      {{"work", "a", "-t", "b", "--text=c"},
       "--text: given 2 times, expected once (see 'sample work --help')"},
      {{"group", "deep", "a"}, "unexpected argument 'a' (see 'sample group deep --help')"},
      {{"group", "deep", "a", "b"},
       "unexpected arguments 'a', 'b' (see 'sample group deep --help')"},
  };
  for (const auto& c : cases) {
    Sample sample;
    EXPECT_EQ(sample.run_with(c.arguments), kUsageError) << c.message;
    EXPECT_EQ(sample.error, c.message);
    EXPECT_TRUE(sample.is_usage_error) << c.message;
    EXPECT_EQ(sample.ran, "") << c.message;
  }
}

TEST(CliRun, PrintsTheVersion) {
  Sample sample;
  testing::internal::CaptureStdout();
  EXPECT_EQ(sample.run_with({"--version"}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "sample 1.2\n");
}

TEST(CliRun, HelpIsACommandToo) {
  const struct {
    std::vector<const char*> command;
    std::vector<const char*> option;
  } cases[] = {{{"help"}, {"--help"}},
               {{"help", "work"}, {"work", "--help"}},
               {{"help", "group", "deep"}, {"group", "deep", "--help"}}};
  for (const auto& c : cases) {
    Sample sample;
    testing::internal::CaptureStdout();
    EXPECT_EQ(sample.run_with(c.command), 0);
    const std::string help = testing::internal::GetCapturedStdout();
    testing::internal::CaptureStdout();
    EXPECT_EQ(sample.run_with(c.option), 0);
    EXPECT_EQ(help, testing::internal::GetCapturedStdout());
    EXPECT_TRUE(help.find("Usage: sample") != std::string::npos) << help;
  }
}

TEST(CliRun, PrintsHelpWithNamesValuesAndDefaults) {
  Sample sample;
  testing::internal::CaptureStdout();
  EXPECT_EQ(sample.run_with({"work", "--help"}), 0);
  const std::string help = testing::internal::GetCapturedStdout();
  EXPECT_EQ(sample.ran, "");
  for (const char* line :
       {"Usage: sample work [OPTIONS] ITEM...\n", "  ITEM ... REQUIRED           Items\n",
        "  --flag                      A flag\n", "  -t,--text TEXT=before Excludes: --maybe\n",
        "  --maybe WORD Excludes: --text\n", "  --count N=3 Needs: --flag   A number\n",
        "  --colour red|blue=blue      A colour\n", "  --word on|off=on            A word\n"}) {
    EXPECT_NE(help.find(line), std::string::npos) << line << "\n" << help;
  }
}

TEST(CliRun, WrapsHelpAtSpaces) {
  std::string text(60, 'a');
  text += " " + std::string(60, 'b');
  const Command program{
      .name = "sample", .help = "A sample", .commands = {{.name = "one", .help = text}}};
  const char* const arguments[] = {"sample", "--help"};
  testing::internal::CaptureStdout();
  EXPECT_EQ(run(program, 2, arguments, [](const std::string&, bool) {}), 0);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("a\n" + std::string(30, ' ') + "b"),
            std::string::npos);
}

TEST(CliOption, KnowsItsNamesValueAndDefault) {
  Sample sample;
  const Command program = sample.program();
  const std::vector<Option>& options = program.commands.front().options;
  EXPECT_TRUE(is_flag(options[0]));
  EXPECT_EQ(names_of(options[1]), (std::vector<std::string>{"-t", "--text"}));
  EXPECT_EQ(default_text(options[1]), "before");
  EXPECT_EQ(value_name(options[2]), "WORD");
  EXPECT_EQ(value_name(options[6]), "red|blue");
  EXPECT_EQ(default_text(options[6]), "blue");
  EXPECT_TRUE(is_positional(options.back()));
  sample.count = 0;
  EXPECT_EQ(default_text(options[3]), "") << "a number out of bounds is no default";
}

}  // namespace
}  // namespace pinfold::cli
