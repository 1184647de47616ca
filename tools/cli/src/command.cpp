#include "pinfold/cli/command.hpp"

#include <fmt/format.h>

#include <memory>
#include <sstream>

namespace pinfold::cli {
namespace {

template <class Number>
std::string number_text(const Number& number) {
  const bool is_valid = number.min <= *number.value && *number.value <= number.max;
  return is_valid ? fmt::format("{}", *number.value) : "";
}

struct TypeName {
  std::string operator()(bool* /*unused*/) const { return ""; }
  std::string operator()(const Integer& /*unused*/) const { return "N"; }
  std::string operator()(const Real& /*unused*/) const { return "NUMBER"; }
  std::string operator()(const Choice& choice) const {
    return fmt::format("{}", fmt::join(choice.words, "|"));
  }
  template <class Text>
  std::string operator()(Text* /*unused*/) const {
    return "TEXT";
  }
};

struct DefaultText {
  std::string operator()(std::string* text) const { return *text; }
  std::string operator()(const Integer& number) const { return number_text(number); }
  std::string operator()(const Real& number) const { return number_text(number); }
  std::string operator()(const Choice& choice) const { return choice.words[choice.initial]; }
  template <class None>
  std::string operator()(None* /*unused*/) const {
    return "";
  }
};

}  // namespace

Choice one_of(std::string& value, const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.reserve(words.size());
  for (const std::string& word : words) pairs.emplace_back(word, word);
  return one_of<std::string>(value, std::move(pairs));
}

Command help_command(const std::string& example) {
  auto words = std::make_shared<std::vector<std::string>>();
  return {.name = kHelpCommand,
          .help = "Print the help of a command",
          .options = {{"COMMAND", words.get(), "A command, or a group and a command in it"}},
          // Only owns the target: cli::run prints the help of the command instead.
          .run = [words] { return 0; },
          .sections = {{"Examples", {{example, "Print the help of a command"}}}}};
}

bool is_positional(const Option& option) { return !option.name.starts_with('-'); }

bool is_flag(const Option& option) { return std::holds_alternative<bool*>(option.target); }

std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> names;
  std::istringstream in(option.name);
  for (std::string name; std::getline(in, name, ',');) names.push_back(name);
  return names;
}

std::string value_name(const Option& option) {
  return option.value.empty() ? std::visit(TypeName(), option.target) : option.value;
}

std::string default_text(const Option& option) { return std::visit(DefaultText(), option.target); }

}  // namespace pinfold::cli
