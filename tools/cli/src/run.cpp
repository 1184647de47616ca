#include "pinfold/cli/run.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <sstream>

namespace pinfold::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kNameWidth = 30;  ///< of the column of names in --help

/// Lines of at most `width` characters, broken at spaces.
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
    return app_.add_option_function<std::string>(name_, choose, help_)
        ->check(CLI::IsMember(choice.words).description(""));
  }

 private:
  template <class Number>
  [[nodiscard]] CLI::Option* add_number(const Number& number) const {
    return app_.add_option(name_, *number.value, help_)
        ->check(CLI::Range(number.min, number.max).description(""));
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

/// `chosen` becomes the command that the command line names.
void add_contents(CLI::App& app, const Command& command, const Command*& chosen) {
  for (const Option& option : command.options) add_option(app, option);
  for (const Option& option : command.options) add_relations(app, option);
  if (command.commands.empty()) {
    app.callback([&command, &chosen] { chosen = &command; });
    return;
  }
  app.require_subcommand(1);
  for (const Command& below : command.commands) {
    add_contents(*app.add_subcommand(below.name, below.help), below, chosen);
  }
}

}  // namespace

int run(const Command& program, int argc, const char* const* argv) {
  CLI::App app(program.help, program.name);
  const auto formatter = std::make_shared<Formatter>();
  formatter->column_width(kNameWidth);
  app.formatter(formatter);
  app.set_help_all_flag("--help-all", "Print the help of every command");
  const Command* chosen = nullptr;
  add_contents(app, program, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  return chosen->run();
}

}  // namespace pinfold::cli
