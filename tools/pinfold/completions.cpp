#include <fmt/format.h>

#include "manual.hpp"

namespace pinfold::tools {
namespace {

/// The options of a command without its positional arguments; --help, --help-all and --version
/// first.
std::vector<cli::Option> named_options(const cli::Command& command) {
  constexpr bool* kNone = nullptr;
  std::vector<cli::Option> options = {{"-h,--help", kNone, "Print this help message and exit"},
                                      {"--help-all", kNone, "Print the help of every command"}};
  if (!command.version.empty()) options.push_back({"--version", kNone, "Print the version"});
  for (const cli::Option& option : command.options) {
    if (!is_positional(option)) options.push_back(option);
  }
  return options;
}

/// The words that an option's value can be, as far as they are known.
std::vector<std::string> choices_of(const cli::Option& option) {
  const auto* const choice = std::get_if<cli::Choice>(&option.target);
  return choice == nullptr ? option.suggestions : choice->words;
}

enum class ValueKind { kText, kFile, kDirectory };

/// By the placeholder; positional arguments without one are files.
ValueKind kind_of(const cli::Option& option) {
  const std::string value = value_name(option);
  if (value == "DIR" || option.name == "directory") return ValueKind::kDirectory;
  const bool is_file = value == "FILE" || (is_positional(option) && option.value.empty());
  return is_file ? ValueKind::kFile : ValueKind::kText;
}

const cli::Option* positional_of(const cli::Command& command) {
  for (const cli::Option& option : command.options) {
    if (is_positional(option)) return &option;
  }
  return nullptr;
}

bool is_help(const cli::Command& command) { return command.name == cli::kHelpCommand; }

std::string names_below(const cli::Command& command) {
  std::vector<std::string> names;
  for (const cli::Command& below : command.commands) names.push_back(below.name);
  return fmt::format("{}", fmt::join(names, " "));
}

/// Calls visit(command, path) for each command below `command`; path: "checkpoint show".
template <class Visit>
void for_each_command(const cli::Command& command, const std::string& path, Visit&& visit) {
  for (const cli::Command& below : command.commands) {
    const std::string here = path.empty() ? below.name : path + " " + below.name;
    visit(below, here);
    for_each_command(below, here, visit);
  }
}

/// What can follow a command: the commands below it and its options.
std::string words_of(const cli::Command& command) {
  std::vector<std::string> words;
  for (const cli::Command& below : command.commands) words.push_back(below.name);
  for (const cli::Option& option : named_options(command)) {
    for (const std::string& name : names_of(option)) words.push_back(name);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

/// Escapes text for single quotes of a shell; zsh also needs brackets and colons escaped.
std::string quoted(const std::string& text, bool for_zsh) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'') {
      out += "'\\''";
    } else if (for_zsh && (letter == '[' || letter == ']' || letter == ':')) {
      out += fmt::format("\\{}", letter);
    } else {
      out += letter;
    }
  }
  return out;
}

}  // namespace

namespace {

/// The shell code that completes the value of an option in bash.
std::string bash_value(const cli::Option& option) {
  const auto choices = choices_of(option);
  if (!choices.empty()) return fmt::format("_pinfold_words '{}'", fmt::join(choices, " "));
  if (!option.suggested_by.empty()) {
    return fmt::format("_pinfold_words \"$(_pinfold_run '{}' '{}')\"", option.suggested_by,
                       option.suggested_with);
  }
  switch (kind_of(option)) {
    case ValueKind::kFile:
      return "_pinfold_files -f";
    case ValueKind::kDirectory:
      return "_pinfold_files -d";
    case ValueKind::kText:
      break;
  }
  return ":";
}

// In all scripts: the options with which a command that prints values finds the node.
constexpr const char* kNodeOptions = "--state-dir|--config|--machine|--sysfs";

}  // namespace

std::string bash_completion(const cli::Command& program) {
  std::string paths;
  std::string cases;
  std::string values;
  const auto add = [&](const cli::Command& command, const std::string& path) {
    if (!path.empty()) paths += fmt::format("{}'{}'", paths.empty() ? "" : "|", path);
    const cli::Option* const argument = positional_of(command);
    std::string other = "_pinfold_words \"$words\"";
    if (is_help(command)) {
      other = fmt::format("_pinfold_words '{}'", names_below(program));
    } else if (argument != nullptr) {
      other = bash_value(*argument);
    }
    cases += fmt::format("    '{}') words='{}'; _pinfold_other() {{ {}; }} ;;\n", path,
                         words_of(command), other);
    for (const cli::Option& option : command.options) {
      if (is_flag(option) || is_positional(option)) continue;
      for (const std::string& name : names_of(option)) {
        values += fmt::format("    '{} {}') {}; return ;;\n", path, name, bash_value(option));
      }
    }
  };
  add(program, "");
  for_each_command(program, "", add);
  return fmt::format(
      R"(# bash completion for pinfold; generated from the declarations of its options
_pinfold_words() {{
  local IFS=$' \t\n'
  COMPREPLY=($(compgen -W "$1" -- "$current"))
}}
_pinfold_files() {{
  local IFS=$'\n'
  compopt -o filenames 2> /dev/null
  COMPREPLY=($(compgen "$1" -- "$current"))
}}
# Runs pinfold on the node that the options name so far. $2: an option that has to be among them.
_pinfold_run() {{
  local i value node=() with=${{2:+lacking}}
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
      {}|"${{2:---state-dir}}")
        [[ ${{COMP_WORDS[i]}} == "$2" ]] && with=
        value=${{COMP_WORDS[i+1]}}
        [[ $value == = ]] && value=${{COMP_WORDS[i+2]}}
        node+=("${{COMP_WORDS[i]}}" "${{value/#\~/$HOME}}") ;;
    esac
  done
  [[ $with ]] || "${{COMP_WORDS[0]}}" $1 "${{node[@]}}" 2> /dev/null
}}
_pinfold() {{
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
      {}) path="${{path:+$path }}$word" ;;
    esac
  done
  case "$path $before" in
{}  esac
  case "$path" in
{}  esac
  if [[ $current == -* ]]; then
    _pinfold_words "$words"
  else
    _pinfold_other
  fi
}}
complete -F _pinfold pinfold
)",
      kNodeOptions, paths, values, cases);
}

namespace {

/// ":message:action" for the value of an option or argument in zsh.
std::string zsh_value(const cli::Option& option) {
  const std::string name = is_positional(option) ? option.name : value_name(option);
  const auto choices = choices_of(option);
  std::string action = " ";
  if (!choices.empty()) {
    action = fmt::format("({})", fmt::join(choices, " "));
  } else if (!option.suggested_by.empty()) {
    action =
        fmt::format("{{_pinfold_run \"{}\" \"{}\"}}", option.suggested_by, option.suggested_with);
  } else if (kind_of(option) != ValueKind::kText) {
    action = kind_of(option) == ValueKind::kFile ? "_files" : "_files -/";
  }
  return fmt::format(":{}:{}", quoted(name, true), action);
}

std::string zsh_arguments(const cli::Command& command, const cli::Command& program) {
  std::string out = "_arguments";
  for (const cli::Option& option : named_options(command)) {
    for (const std::string& name : names_of(option)) {
      out += fmt::format(" \\\n        '{}[{}]{}'", name, quoted(option.help, true),
                         is_flag(option) ? "" : zsh_value(option));
    }
  }
  if (is_help(command)) return out + fmt::format(" '*:command:({})'", names_below(program));
  if (const cli::Option* const argument = positional_of(command)) {
    out += fmt::format(" \\\n        '*{}'", zsh_value(*argument));
  }
  return out;
}

/// A function for a group of commands and the functions of the groups in it.
void add_zsh_group(const cli::Command& group, const cli::Command& program,
                   const std::string& function, std::string& out) {
  std::string list;
  std::string cases;
  for (const cli::Command& below : group.commands) {
    list += fmt::format("    '{}:{}'\n", below.name, quoted(below.help, true));
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

}  // namespace

std::string zsh_completion(const cli::Command& program) {
  std::string functions;
  add_zsh_group(program, program, "_pinfold", functions);
  return fmt::format(R"zsh(#compdef pinfold
# zsh completion for pinfold; generated from the declarations of its options
# Offers what pinfold prints about the node that the options name so far. $2: an option that has to be
# among them.
_pinfold_run() {{
  local -a node values
  local i with=$2
  for (( i = 2; i < CURRENT; i++ )); do
    [[ -n $2 && ${{words[i]%%=*}} == $2 ]] && with=
    case $words[i] in
      ({}|${{2:---state-dir}}) node+=($words[i] ${{(Q)words[i+1]}}) ;;
      (--*=*) case ${{words[i]%%=*}} in ({}|${{2:---state-dir}}) node+=(${{words[i]}}) ;; esac ;;
    esac
  done
  [[ -z $with ]] || return
  values=(${{(f)"$(pinfold ${{=1}} $node 2> /dev/null)"}})
  compadd -a values
}}
{}_pinfold "$@"
)zsh",
                     kNodeOptions, kNodeOptions, functions);
}

std::string fish_completion(const cli::Command& program) {
  std::string out = R"(# fish completion for pinfold; generated from the declarations of its options
# Prints what pinfold says about the node that the options name so far. $argv[2]: an option that has
# to be among them.
function __pinfold_run
    set -l words (commandline -opc)
    set -l node
    for i in (seq (count $words))
        set -l pair (string split -m 1 = -- $words[$i])
        contains -- $pair[1] --state-dir --config --machine --sysfs $argv[2..]; or continue
        if test (count $pair) = 2
            set -a node $words[$i]
        else if test $i -lt (count $words)
            set -a node $words[$i] (string replace -r '^~' $HOME -- $words[(math $i + 1)])
        end
    end
    if set -q argv[2]; and not string match -q -- "$argv[2]*" $node
        return
    end
    pinfold (string split ' ' -- $argv[1]) $node 2> /dev/null
end
)";
  for (const cli::Command& command : program.commands) {
    out += fmt::format("complete -c pinfold -n __fish_use_subcommand -f -a {} -d '{}'\n",
                       command.name, quoted(command.help, false));
  }
  for_each_command(program, "", [&](const cli::Command& command, const std::string& path) {
    if (const auto space = path.rfind(' '); space != std::string::npos) {
      out +=
          fmt::format("complete -c pinfold -n '__fish_seen_subcommand_from {}' -f -a {} -d '{}'\n",
                      path.substr(0, space), command.name, quoted(command.help, false));
    }
    for (const cli::Option& option : named_options(command)) {
      out += fmt::format("complete -c pinfold -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : names_of(option)) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      const auto choices = choices_of(option);
      if (!choices.empty()) {
        out += fmt::format(" -x -a '{}'", fmt::join(choices, " "));
      } else if (!option.suggested_by.empty()) {
        out += fmt::format(" -x -a '(__pinfold_run \"{}\" {})'", option.suggested_by,
                           option.suggested_with);
      } else if (!is_flag(option)) {
        out += kind_of(option) == ValueKind::kText ? " -x" : " -r";
      }
      out += fmt::format(" -d '{}'\n", quoted(option.help, false));
    }
  });
  return out;
}

}  // namespace pinfold::tools
