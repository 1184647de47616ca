#include <fmt/format.h>
#include <fmt/ranges.h>

#include "completion.hpp"
#include "pinfold/manual/manual.hpp"

namespace pinfold::manual {
namespace {

/// Returns the words that can follow a command: its subcommands and options.
std::string words_of(const cli::Command& command) {
  std::vector<std::string> words;
  for (const cli::Command& below : command.commands) words.push_back(below.name);
  for (const cli::Option& option : named_options(command)) {
    for (const std::string& name : names_of(option)) words.push_back(name);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

/// Returns the shell code that completes the value of an option.
std::string bash_value(const cli::Option& option, const std::string& function) {
  const auto choices = choices_of(option);
  if (!choices.empty()) return fmt::format("{}_words '{}'", function, fmt::join(choices, " "));
  if (!option.suggested_by.empty()) {
    return fmt::format("{0}_words \"$({0}_run '{1}' '{2}')\"", function, option.suggested_by,
                       option.suggested_with);
  }
  switch (kind_of(option)) {
    case ValueKind::kFile:
      return function + "_files -f" + (option.suffix.empty() ? "" : " " + option.suffix);
    case ValueKind::kDirectory:
      return function + "_files -d";
    case ValueKind::kText:
      break;
  }
  return ":";
}

/// Runs the program to print values, with the options of the line that it needs for that.
constexpr const char* kBashRun =
    R"(# Runs {p} with those options on the line that select its input. $2: an option that must be
# among them.
{f}_run() {{
  local i value node=() with=${{2:+lacking}}
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
      {subject}|"${{2:-{first}}}")
        [[ ${{COMP_WORDS[i]}} == "$2" ]] && with=
        value=${{COMP_WORDS[i+1]}}
        [[ $value == = ]] && value=${{COMP_WORDS[i+2]}}
        node+=("${{COMP_WORDS[i]}}" "${{value/#\~/$HOME}}") ;;
    esac
  done
  [[ $with ]] || "${{COMP_WORDS[0]}}" $1 "${{node[@]}}" 2> /dev/null
}}
)";

constexpr const char* kBashScript =
    R"(# bash completion for {p}; generated from the declarations of its options
{f}_words() {{
  local IFS=$' \t\n'
  COMPREPLY=($(compgen -W "$1" -- "$current"))
}}
# $2: how the names of files end; directories are offered too.
{f}_files() {{
  local IFS=$'\n'
  compopt -o filenames 2> /dev/null
  if [[ ${{2:-}} ]]; then
    COMPREPLY=($(compgen -f -X "!*$2" -- "$current"; compgen -d -- "$current"))
  else
    COMPREPLY=($(compgen "$1" -- "$current"))
  fi
}}
{run}{f}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local path='' word words=''
  # bash makes three words of --output=json.
  if [[ $current == = ]]; then
    current=''
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "${{path:+$path }}$word" in
      {paths}) path="${{path:+$path }}$word" ;;
    esac
  done
  case "$path $before" in
{values}  esac
  case "$path" in
{cases}  esac
  if [[ $current == -* ]]; then
    {f}_words "$words"
  else
    {f}_other
  fi
}}
complete -F {f} {p}
)";

}  // namespace

std::string bash_completion(const cli::Command& program) {
  const std::string function = "_" + identifier_of(program);
  std::string paths;
  std::string cases;
  std::string values;
  const auto add = [&](const cli::Command& command, const std::string& path) {
    if (!path.empty()) paths += fmt::format("{}'{}'", paths.empty() ? "" : "|", path);
    const cli::Option* const argument = positional_of(command);
    std::string other = function + "_words \"$words\"";
    if (is_help(command)) {
      other = fmt::format("{}_words '{}'", function, names_below(program));
    } else if (argument != nullptr) {
      other = bash_value(*argument, function);
    }
    cases += fmt::format("    '{}') words='{}'; {}_other() {{ {}; }} ;;\n", path, words_of(command),
                         function, other);
    for (const cli::Option& option : command.options) {
      if (is_flag(option) || is_positional(option)) continue;
      for (const std::string& name : names_of(option)) {
        values +=
            fmt::format("    '{} {}') {}; return ;;\n", path, name, bash_value(option, function));
      }
    }
  };
  add(program, "");
  for_each_command(program, "", add);
  const auto p = fmt::arg("p", program.name);
  const auto f = fmt::arg("f", function);
  std::string run;
  if (prints_values(program)) {
    run = fmt::format(
        fmt::runtime(kBashRun), p, f, fmt::arg("first", program.subject_options.front()),
        fmt::arg("subject", fmt::format("{}", fmt::join(program.subject_options, "|"))));
  }
  return fmt::format(fmt::runtime(kBashScript), p, f, fmt::arg("run", run),
                     fmt::arg("paths", paths), fmt::arg("values", values),
                     fmt::arg("cases", cases));
}

}  // namespace pinfold::manual
