#include "pinfold/cli/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <sstream>
#include <system_error>

#include "pinfold/text/message.hpp"

namespace pinfold::cli {
namespace {

constexpr const char* kHelpAll = "--help-all";
constexpr std::size_t kWidth = 100;
constexpr std::size_t kNameWidth = 30;  ///< width of the column of names in --help

/// Breaks text at spaces into lines of at most `width` characters.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  std::istringstream in(text);
  for (std::string word; in >> word; column += word.size()) {
    if (column > 0) {
      const bool fits = column + 1 + word.size() <= width;
      out += fits ? ' ' : '\n';
      column = fits ? column + 1 : 0;
    }
    out += word;
  }
  return out;
}

/// CLI11's own layout of --help, with lines of at most kWidth characters.
class Formatter : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_description(const CLI::App* app) const override {
    return wrapped(app->get_description(), kWidth) + "\n";
  }
  [[nodiscard]] std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(option->get_description(), kWidth - kNameWidth);
  }
  [[nodiscard]] std::string make_subcommand(const CLI::App* app) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, app->get_display_name(true),
                             wrapped(app->get_description(), kWidth - kNameWidth), kNameWidth);
    return out.str();
  }
};

/// Returns "a, b or c".
std::string alternatives(const std::vector<std::string>& words) {
  if (words.size() == 1) return words.front();
  const auto last = words.end() - 1;
  return fmt::format("{} or {}", fmt::join(words.begin(), last, ", "), *last);
}

/// Adds an option to CLI11's declaration of a command, by the type of its target.
class Adder {
 public:
  Adder(CLI::App& app, const Option& option) : app_(app), name_(option.name), help_(option.help) {}

  CLI::Option* operator()(bool* value) const { return app_.add_flag(name_, *value, help_); }
  CLI::Option* operator()(std::string* value) const {
    return app_.add_option(name_, *value, help_);
  }
  CLI::Option* operator()(std::vector<std::string>* value) const {
    return app_.add_option(name_, *value, help_);
  }
  CLI::Option* operator()(std::optional<std::string>* value) const {
    return app_.add_option_function<std::string>(
        name_, [value](const std::string& text) { *value = text; }, help_);
  }
  CLI::Option* operator()(const Integer& number) const { return add_number(number); }
  CLI::Option* operator()(const Real& number) const { return add_number(number); }
  CLI::Option* operator()(const Choice& choice) const {
    const auto choose = [choice](const std::string& word) {
      const auto found = std::find(choice.words.begin(), choice.words.end(), word);
      choice.choose(static_cast<std::size_t>(found - choice.words.begin()));
    };
    const auto problem = [words = choice.words](const std::string& word) -> std::string {
      if (std::find(words.begin(), words.end(), word) != words.end()) return "";
      return fmt::format("'{}': expected {}", word, alternatives(words));
    };
    return app_.add_option_function<std::string>(name_, choose, help_)->check(problem);
  }

 private:
  template <class Number>
  [[nodiscard]] CLI::Option* add_number(const Number& number) const {
    const auto problem = [number](const std::string& text) -> std::string {
      auto value = number.min;
      const bool is_number = CLI::detail::lexical_cast(text, value);
      if (is_number && number.min <= value && value <= number.max) return "";
      const bool is_bounded = number.max != std::numeric_limits<decltype(number.max)>::max();
      return fmt::format("'{}': expected {}", text,
                         is_bounded ? fmt::format("{} to {}", number.min, number.max)
                                    : fmt::format("{} or more", number.min));
    };
    return app_.add_option(name_, *number.value, help_)->check(problem);
  }

  CLI::App& app_;
  std::string name_;
  std::string help_;
};

void add_option(CLI::App& app, const Option& option) {
  CLI::Option* const added = std::visit(Adder(app, option), option.target);
  if (is_flag(option)) return;
  added->type_name(is_positional(option) ? option.value : value_name(option));
  added->default_str(default_text(option));
  added->required(option.required);
  if (option.one_at_a_time) added->allow_extra_args(false);
}

void add_relations(CLI::App& app, const Option& option) {
  const auto find = [&app](const std::string& names) {
    return app.get_option(names.substr(names.rfind(',') + 1));
  };
  for (const std::string& other : option.excludes) find(option.name)->excludes(find(other));
  if (!option.needs.empty()) find(option.name)->needs(find(option.needs));
}

/// Formats the sections of a command, which follow its options in --help.
std::string footer_of(const Command& command) {
  std::ostringstream out;
  for (const auto& [title, rows] : command.sections) {
    out << "\n" << title << ":\n";
    for (const auto& [term, text] : rows) {
      CLI::detail::format_help(out, "  " + term, wrapped(text, kWidth - kNameWidth), kNameWidth);
    }
  }
  return out.str();
}

using Words = std::vector<std::string>;

/// A command as users write it, with its declaration.
struct Named {
  std::string path;  ///< "pinfold checkpoint"
  const Command* command = nullptr;
};

/// Finds the command named by as many of the first words as possible.
Named find_command(const Command& program, const Words& words) {
  Named found{program.name, &program};
  for (const std::string& word : words) {
    const auto& below = found.command->commands;
    const auto next = std::find_if(below.begin(), below.end(),
                                   [&](const Command& command) { return command.name == word; });
    if (next == below.end()) break;
    found = {found.path + " " + word, &*next};
  }
  return found;
}

/// Declares a command and its subcommands to CLI11: all of them, or only those that `words` name,
/// because declaring all takes longer than running a short command. `chosen` becomes the command
/// that the command line names.
void add_contents(CLI::App& app, const Command& command, std::span<const std::string> words,
                  bool all, const Command*& chosen) {
  app.footer(footer_of(command));
  for (const Option& option : command.options) add_option(app, option);
  for (const Option& option : command.options) add_relations(app, option);
  if (command.commands.empty()) {
    app.callback([&command, &chosen] { chosen = &command; });
    return;
  }
  app.require_subcommand(1);
  const auto rest = words.empty() ? words : words.subspan(1);
  for (const Command& below : command.commands) {
    if (!all && below.name != words.front()) continue;
    add_contents(*app.add_subcommand(below.name, below.help), below, rest, all, chosen);
  }
}

/// Explains why the words name no command; "" if they do, or ask for something else like --help.
std::string missing_command(const Command& program, const Words& words) {
  const auto [path, command] = find_command(program, words);
  if (command->commands.empty()) return "";
  const auto depth = static_cast<std::size_t>(std::count(path.begin(), path.end(), ' '));
  Words known;
  for (const Command& below : command->commands) known.push_back(below.name);
  if (words.size() == depth) return fmt::format("expected a command: {}", alternatives(known));
  const std::string& word = words[depth];
  if (word.starts_with('-')) return "";
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string suggestion = did_you_mean(word, views);
  return fmt::format("'{}': unknown command{}", word,
                     suggestion.empty() ? ", expected " + alternatives(known) : suggestion);
}

/// Explains a wrong number of values; `error` begins with the name of the option.
std::string describe_mismatch(const std::string& error, const Command& command,
                              const Words& words) {
  const std::string name = error.substr(0, error.find(':'));
  for (const Option& option : command.options) {
    const auto names = names_of(option);
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    const auto given = std::count_if(words.begin(), words.end(), [&](const std::string& word) {
      return std::find(names.begin(), names.end(), word.substr(0, word.find('='))) != names.end();
    });
    if (given > 1) return fmt::format("{}: given {} times, expected once", name, given);
    return fmt::format("{}: expected a value: {}", name, value_name(option));
  }
  return error;
}

/// Rewords CLI11's message; for an unknown option it has a suggestion.
std::string usage_problem(const CLI::ParseError& error, const CLI::App& app, const Command& command,
                          const Words& words) {
  Words names = {"--help", kHelpAll, "--version"};
  for (const Option& option : command.options) {
    for (const std::string& name : names_of(option)) names.push_back(name);
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    const bool is_unknown =
        name.starts_with("--") && name.size() > 2 &&
        std::find(known.begin(), known.end(), std::string_view(name)) == known.end();
    if (is_unknown) return fmt::format("'{}': unknown option{}", name, did_you_mean(name, known));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return describe_mismatch(error.what(), command, words);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return error.what();
  const Words extras = app.remaining(/*recurse=*/true);
  return fmt::format("unexpected argument{} '{}'", extras.size() == 1 ? "" : "s",
                     fmt::join(extras, "', '"));
}

/// Flushes standard output and returns the exit status: `status`, or kUsageError if that fails. A
/// closed pipe is not an error. `cause`: the errno if writing has already failed, else 0.
int finish_output(int status, int cause, const ReportError& report) {
  errno = 0;
  if (cause == 0 && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  if (cause == 0) cause = errno == 0 ? EIO : errno;
  if (cause == EPIPE) return status;
  report("write standard output: " + std::generic_category().message(cause), false);
  return kUsageError;
}

/// Returns whether an empty text has no meaning: an optional one distinguishes it from none.
bool takes_text(const Option& option) {
  return std::holds_alternative<std::string*>(option.target) ||
         std::holds_alternative<std::vector<std::string>*>(option.target);
}

/// Explains an empty value, which a shell makes of a variable that is not set; "" if there is none.
std::string empty_value(const Command& command, const Words& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  for (const Option& option : command.options) {
    if (is_positional(option) || !takes_text(option)) continue;
    for (const std::string& name : names_of(option)) {
      for (auto word = words.begin(); word != end; ++word) {
        const auto next = std::next(word);
        const bool is_empty =
            *word == name + "=" || (*word == name && next != end && next->empty());
        if (is_empty) {
          return fmt::format("{}: '': expected {}; a shell variable may not be set", name,
                             value_name(option));
        }
      }
    }
  }
  return "";
}

/// Joins options whose value may begin with a dash to "--name=VALUE".
Words with_verbatim(const Command& command, Words words) {
  for (const Option& option : command.options) {
    if (!option.is_verbatim) continue;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] != option.name) continue;
      words[i] += "=" + words[i + 1];
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }
  return words;
}

int parse_and_run(const Command& program, const Words& words, const ReportError& report) {
  const auto [path, command] = find_command(program, words);
  const auto usage_error = [&, here = path](const std::string& problem) {
    report(fmt::format("{} (see '{} --help')", problem, here), true);
    return kUsageError;
  };
  if (const auto problem = missing_command(program, words); !problem.empty()) {
    return usage_error(problem);
  }
  if (const auto problem = empty_value(*command, words); !problem.empty()) {
    return usage_error(problem);
  }
  CLI::App app(program.help, program.name);
  const auto formatter = std::make_shared<Formatter>();
  formatter->column_width(kNameWidth);
  app.formatter(formatter);
  app.set_help_flag("-h,--help", "Print this help");
  app.set_help_all_flag(kHelpAll, "Print the help of every command");
  if (!program.version.empty()) {
    app.set_version_flag("--version", program.name + " " + program.version, "Print the version");
  }
  const Command* chosen = nullptr;
  const bool all =
      !command->commands.empty() || std::find(words.begin(), words.end(), kHelpAll) != words.end();
  add_contents(app, program, words, all, chosen);
  try {
    Words all_words = with_verbatim(*command, words);
    std::reverse(all_words.begin(), all_words.end());  // CLI11 consumes words from the back
    app.parse(std::move(all_words));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::CallForAllHelp&) {
    fmt::print("{}", app.help("", CLI::AppFormatMode::All));
    return 0;
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
    return 0;
  } catch (const CLI::ParseError& error) {
    return usage_error(usage_problem(error, app, *command, words));
  }
  return chosen->run();
}

}  // namespace

int run(const Command& program, int argc, const char* const* argv, const ReportError& report) {
  Words words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == kHelpCommand) {
    std::rotate(words.begin(), words.begin() + 1, words.end());
    words.back() = "--help";
  }
  try {
    return finish_output(parse_and_run(program, words, report), 0, report);
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) throw;  // not from fmt::print
    return finish_output(0, error.code().value(), report);
  }
}

}  // namespace pinfold::cli
