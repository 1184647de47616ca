#include <fmt/format.h>

#include "manual.hpp"

namespace pinfold::tools {
namespace {

/// The options of a command without its positional arguments; --help and --help-all first.
std::vector<cli::Option> named_options(const cli::Command& command) {
  constexpr bool* kNone = nullptr;
  std::vector<cli::Option> options = {{"-h,--help", kNone, "Print this help message and exit"},
                                      {"--help-all", kNone, "Print the help of every command"}};
  for (const cli::Option& option : command.options) {
    if (!is_positional(option)) options.push_back(option);
  }
  return options;
}

std::vector<std::string> choices_of(const cli::Option& option) {
  const auto* const choice = std::get_if<cli::Choice>(&option.target);
  return choice == nullptr ? std::vector<std::string>() : choice->words;
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

std::string bash_completion(const cli::Command& program) {
  std::string cases;
  std::string values;
  const auto add = [&](const cli::Command& command, const std::string& path) {
    cases += fmt::format("    '{}') words='{}'{} ;;\n", path, words_of(command),
                         command.commands.empty() ? "" : " is_group=yes");
    for (const cli::Option& option : command.options) {
      const auto choices = choices_of(option);
      if (choices.empty()) continue;
      for (const std::string& name : names_of(option)) {
        values +=
            fmt::format("    '{} {}') COMPREPLY=($(compgen -W '{}' -- \"$current\")); return ;;\n",
                        path, name, fmt::join(choices, " "));
      }
    }
  };
  add(program, "");
  for_each_command(program, "", add);
  return fmt::format(
      R"(# bash completion for pinfold; generated from the declarations of its options
_pinfold() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local path='' word words='' is_group=''
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $word == -* ]] && break
    path="${{path:+$path }}$word"
  done
  case "$path $before" in
{}  esac
  case "$path" in
{}  esac
  if [[ $current == -* || -n $is_group ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _pinfold pinfold
)",
      values, cases);
}

std::string zsh_completion(const cli::Command& program) {
  std::string commands;
  std::string cases;
  const auto arguments = [](const cli::Command& command) {
    std::string out;
    for (const cli::Option& option : named_options(command)) {
      for (const std::string& name : names_of(option)) {
        out += fmt::format(" \\\n        '{}[{}]", name, quoted(option.help, true));
        const auto choices = choices_of(option);
        if (!choices.empty()) {
          out += fmt::format(":value:({})", fmt::join(choices, " "));
        } else if (!is_flag(option)) {
          out += fmt::format(":{}:_files", quoted(value_name(option), true));
        }
        out += "'";
      }
    }
    return out;
  };
  for (const cli::Command& command : program.commands) {
    commands += fmt::format("    '{}:{}'\n", command.name, quoted(command.help, true));
    if (command.commands.empty()) {
      cases += fmt::format("    {}) _arguments{} \\\n        '*:file:_files' ;;\n", command.name,
                           arguments(command));
      continue;
    }
    std::vector<std::string> names;
    for (const cli::Command& below : command.commands) names.push_back(below.name);
    cases += fmt::format("    {}) _arguments '1:command:({})' '*:file:_files' ;;\n", command.name,
                         fmt::join(names, " "));
  }
  return fmt::format(R"(#compdef pinfold
# zsh completion for pinfold; generated from the declarations of its options
_pinfold() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{}  esac
}}
_pinfold "$@"
)",
                     commands, cases);
}

std::string fish_completion(const cli::Command& program) {
  std::string out =
      "# fish completion for pinfold; generated from the declarations of its options\n";
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
      } else if (!is_flag(option)) {
        out += " -r";
      }
      out += fmt::format(" -d '{}'\n", quoted(option.help, false));
    }
  });
  return out;
}

}  // namespace pinfold::tools
