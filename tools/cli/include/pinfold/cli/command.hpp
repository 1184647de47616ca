#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// Declares the command line of a program as values. The parser, --help, the man page and the
/// completions all use the same declaration.
namespace pinfold::cli {

/// A number within inclusive bounds.
struct Integer {
  int* value = nullptr;
  int min = 0;
  int max = 0;
};
struct Real {
  double* value = nullptr;
  double min = 0;
  double max = 0;
};

/// One word of a fixed list; see one_of.
struct Choice {
  std::vector<std::string> words;
  std::function<void(std::size_t)> choose;  ///< called with the index of the given word
  std::size_t initial = 0;                  ///< index of the default
};

/// Where the value of an option is stored. bool: the option takes no value. vector: the option
/// takes one value or more and may be repeated. The initial value is the default.
using Target = std::variant<bool*, std::string*, std::optional<std::string>*,
                            std::vector<std::string>*, Integer, Real, Choice>;

/// An option or a positional argument.
struct Option {
  std::string name;  ///< "--pod", "-o,--output"; a positional argument has no dashes
  Target target;
  std::string help;
  std::string value = "";  ///< placeholder in --help: "DIR"; "": depends on the target's type
  bool required = false;
  std::vector<std::string> excludes = {};  ///< options that exclude this one
  std::string needs = "";                  ///< an option that this one requires
  bool is_verbatim = false;                ///< the value may begin with a dash
  bool one_at_a_time = false;              ///< a list option takes one value per occurrence
  /// Values that completions offer; others are valid, too.
  std::vector<std::string> suggestions = {};
  /// Arguments with which the program prints values for completions, one per line.
  std::string suggested_by = "";
  /// An option that is passed along with `suggested_by`. Without it on the line, completions offer
  /// nothing.
  std::string suggested_with = "";
  /// The suffix of files that completions offer, such as ".yaml"; "": any file.
  std::string suffix = "";
};

/// A row of two columns in --help and the man page.
struct Row {
  std::string term;  ///< "0", "NO_COLOR", a command line
  std::string text;
};
struct Section {
  std::string title;  ///< "Exit status"
  std::vector<Row> rows;
};

/// A command with options and a function, or a group of commands.
struct Command {
  std::string name;
  std::string help;
  std::vector<Option> options = {};
  std::vector<Command> commands = {};
  /// Runs the command after its option values were stored, and returns the exit status. Must own
  /// the targets of the options.
  std::function<int()> run = nullptr;
  std::string version = "";  ///< of a program, for --version
  std::string summary = "";  ///< of a program: half a line for its man page
  /// Of a program: the options that select its subject ("--state-dir"). Completions pass them on
  /// when it prints values (suggested_by).
  std::vector<std::string> subject_options = {};
  std::vector<Section> sections = {};  ///< printed after the options and commands

  void add(const std::vector<Option>& more) {
    options.insert(options.end(), more.begin(), more.end());
  }
};

/// A choice in which each word sets `value` to the paired value. The default is the current value.
template <class Value>
[[nodiscard]] Choice one_of(Value& value, std::vector<std::pair<std::string, Value>> words) {
  Choice choice;
  std::vector<Value> values;
  for (auto& [word, meaning] : words) {
    if (meaning == value) choice.initial = values.size();
    choice.words.push_back(std::move(word));
    values.push_back(std::move(meaning));
  }
  choice.choose = [&value, values = std::move(values)](std::size_t i) { value = values[i]; };
  return choice;
}
[[nodiscard]] Choice one_of(std::string& value, const std::vector<std::string>& words);

/// Makes the command `help` for the list of a program's commands. `example`: "pinfold help admit".
[[nodiscard]] Command help_command(const std::string& example);
inline constexpr const char* kHelpCommand = "help";

[[nodiscard]] bool is_positional(const Option& option);
[[nodiscard]] bool is_flag(const Option& option);
/// Returns the names of an option: {"-o", "--output"}.
[[nodiscard]] std::vector<std::string> names_of(const Option& option);
/// Returns the placeholder or choices of an option: "DIR", "text|json"; "" for a flag.
[[nodiscard]] std::string value_name(const Option& option);
/// Returns the default; "" if there is none: an empty text, or a number out of bounds.
[[nodiscard]] std::string default_text(const Option& option);

}  // namespace pinfold::cli
