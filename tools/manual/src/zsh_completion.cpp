#include <fmt/format.h>
#include <fmt/ranges.h>

#include "completion.hpp"
#include "pinfold/manual/manual.hpp"

namespace pinfold::manual {
namespace {

/// Escapes text for single quotes, and brackets and colons, which _arguments uses as separators.
std::string zsh_quoted(const std::string& text) {
  std::string out;
  for (const char letter : quoted(text)) {
    if (letter == '[' || letter == ']' || letter == ':') out += '\\';
    out += letter;
  }
  return out;
}

/// Returns the action that offers files.
std::string zsh_files(const cli::Option& option) {
  if (kind_of(option) == ValueKind::kDirectory) return "_files -/";
  return option.suffix.empty() ? "_files" : fmt::format("_files -g \"*{}\"", option.suffix);
}

/// Returns ":message:action" for the value of an option or argument.
std::string zsh_value(const cli::Option& option, const std::string& function) {
  const std::string name = is_positional(option) ? option.name : value_name(option);
  const auto choices = choices_of(option);
  std::string action = " ";
  if (!choices.empty()) {
    action = fmt::format("({})", fmt::join(choices, " "));
  } else if (!option.suggested_by.empty()) {
    action = fmt::format("{{{}_run \"{}\" \"{}\"}}", function, option.suggested_by,
                         option.suggested_with);
  } else if (kind_of(option) != ValueKind::kText) {
    action = zsh_files(option);
  }
  return fmt::format(":{}:{}", zsh_quoted(name), action);
}

std::string zsh_arguments(const cli::Command& command, const cli::Command& program) {
  const std::string function = "_" + identifier_of(program);
  std::string out = "_arguments";
  for (const cli::Option& option : named_options(command)) {
    for (const std::string& name : names_of(option)) {
      out += fmt::format(" \\\n        '{}[{}]{}'", name, zsh_quoted(option.help),
                         is_flag(option) ? "" : zsh_value(option, function));
    }
  }
  if (is_help(command)) return out + fmt::format(" '*:command:({})'", names_below(program));
  if (const cli::Option* const argument = positional_of(command)) {
    out += fmt::format(" \\\n        '*{}'", zsh_value(*argument, function));
  }
  return out;
}

/// Returns a function for a group of commands, and the functions of the groups in it.
void add_zsh_group(const cli::Command& group, const cli::Command& program,
                   const std::string& function, std::string& out) {
  std::string list;
  std::string cases;
  for (const cli::Command& below : group.commands) {
    list += fmt::format("    '{}:{}'\n", below.name, zsh_quoted(below.help));
    const std::string inner = function + "_" + below.name;
    if (!below.commands.empty()) add_zsh_group(below, program, inner, out);
    cases += fmt::format("    {}) {} ;;\n", below.name,
                         below.commands.empty() ? zsh_arguments(below, program) : inner);
  }
  out += fmt::format(R"({}() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    if [[ $PREFIX == -* ]]; then
      {}
    else
      _describe 'command' commands
    fi
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{}  esac
}}
)",
                     function, list,
                     zsh_arguments({.name = "", .help = "", .version = group.version}, program),
                     cases);
}

constexpr const char* kZshRun =
    R"zsh(# Offers what {p} prints with those options on the line that select its input. $2: an option
# that must be among them.
{f}_run() {{
  local -a node values
  local i with=$2
  for (( i = 2; i < CURRENT; i++ )); do
    [[ -n $2 && ${{words[i]%%=*}} == $2 ]] && with=
    case $words[i] in
      ({subject}|${{2:-{first}}}) node+=($words[i] ${{(Q)words[i+1]}}) ;;
      (--*=*) case ${{words[i]%%=*}} in ({subject}|${{2:-{first}}}) node+=(${{words[i]}}) ;; esac ;;
    esac
  done
  [[ -z $with ]] || return
  values=(${{(f)"$({p} ${{=1}} $node 2> /dev/null)"}})
  compadd -a values
}}
)zsh";

}  // namespace

std::string zsh_completion(const cli::Command& program) {
  const std::string function = "_" + identifier_of(program);
  std::string functions;
  if (prints_values(program)) {
    functions = fmt::format(
        fmt::runtime(kZshRun), fmt::arg("p", program.name), fmt::arg("f", function),
        fmt::arg("first", program.subject_options.front()),
        fmt::arg("subject", fmt::format("{}", fmt::join(program.subject_options, "|"))));
  }
  add_zsh_group(program, program, function, functions);
  return fmt::format(
      "#compdef {0}\n# zsh completion for {0}; generated from the declarations of its options\n"
      "{1}{2} \"$@\"\n",
      program.name, functions, function);
}

}  // namespace pinfold::manual
