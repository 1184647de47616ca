#include <fmt/format.h>

#include "manual.hpp"

namespace pinfold::tools {
namespace {

struct Flag {
  std::vector<std::string> names;  ///< "-o", "--output"
  std::string description;
  std::string value;  ///< "DIR", "FILE", "text|json"; "": takes none
};

std::vector<Flag> flags_of(const CLI::App& command) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) continue;
    Flag flag;
    for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
    flag.description = option->get_description();
    flag.value = value_name(*option);
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::vector<std::string> choices_of(const Flag& flag) {
  std::vector<std::string> choices;
  if (flag.value.find('|') == std::string::npos) return choices;
  std::string rest = flag.value;
  for (std::size_t bar = rest.find('|'); bar != std::string::npos; bar = rest.find('|')) {
    choices.push_back(rest.substr(0, bar));
    rest.erase(0, bar + 1);
  }
  choices.push_back(rest);
  return choices;
}

/// Calls visit(command, path) for each command without commands below it; path: "checkpoint show".
template <class Visit>
void for_each_command(const CLI::App& app, const std::string& path, Visit&& visit) {
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string here = path.empty() ? command->get_name() : path + " " + command->get_name();
    visit(*command, here);
    for_each_command(*command, here, visit);
  }
}

std::string words_of(const CLI::App& command) {
  std::string words;
  for (const CLI::App* below : command.get_subcommands({})) words += below->get_name() + " ";
  for (const Flag& flag : flags_of(command))
    words += fmt::format("{} ", fmt::join(flag.names, " "));
  if (!words.empty()) words.pop_back();
  return words;
}

/// Text between single quotes of a shell; brackets and colons mean something to zsh.
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

std::string bash_completion(const CLI::App& app) {
  std::string cases;
  std::string values;
  const auto add = [&](const CLI::App& command, const std::string& path) {
    cases += fmt::format("    '{}') words='{}'{} ;;\n", path, words_of(command),
                         command.get_subcommands({}).empty() ? "" : " is_group=yes");
    for (const Flag& flag : flags_of(command)) {
      const auto choices = choices_of(flag);
      if (choices.empty()) continue;
      for (const std::string& name : flag.names) {
        values +=
            fmt::format("    '{} {}') COMPREPLY=($(compgen -W '{}' -- \"$current\")); return ;;\n",
                        path, name, fmt::join(choices, " "));
      }
    }
  };
  add(app, "");
  for_each_command(app, "", add);
  return fmt::format(R"(# bash completion for pinfold; made from its own help
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

std::string zsh_completion(const CLI::App& app) {
  std::string commands;
  std::string cases;
  const auto arguments = [](const CLI::App& command) {
    std::string out;
    for (const Flag& flag : flags_of(command)) {
      for (const std::string& name : flag.names) {
        out += fmt::format(" \\\n        '{}[{}]", name, quoted(flag.description, true));
        const auto choices = choices_of(flag);
        if (!choices.empty()) {
          out += fmt::format(":value:({})", fmt::join(choices, " "));
        } else if (!flag.value.empty()) {
          out += fmt::format(":{}:_files", quoted(flag.value, true));
        }
        out += "'";
      }
    }
    return out;
  };
  for (const CLI::App* command : app.get_subcommands({})) {
    commands +=
        fmt::format("    '{}:{}'\n", command->get_name(), quoted(command->get_description(), true));
    const auto below = command->get_subcommands({});
    if (below.empty()) {
      cases += fmt::format("    {}) _arguments{} \\\n        '*:file:_files' ;;\n",
                           command->get_name(), arguments(*command));
      continue;
    }
    std::string names;
    for (const CLI::App* one : below) names += " " + one->get_name();
    cases += fmt::format("    {}) _arguments '1:command:({})' '*:file:_files' ;;\n",
                         command->get_name(), names.substr(1));
  }
  return fmt::format(R"(#compdef pinfold
# zsh completion for pinfold; made from its own help
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

std::string fish_completion(const CLI::App& app) {
  std::string out = "# fish completion for pinfold; made from its own help\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    out += fmt::format("complete -c pinfold -n __fish_use_subcommand -f -a {} -d '{}'\n",
                       command->get_name(), quoted(command->get_description(), false));
  }
  for_each_command(app, "", [&](const CLI::App& command, const std::string& path) {
    const std::string& name = command.get_name();
    if (const auto space = path.rfind(' '); space != std::string::npos) {
      out +=
          fmt::format("complete -c pinfold -n '__fish_seen_subcommand_from {}' -f -a {} -d '{}'\n",
                      path.substr(0, space), name, quoted(command.get_description(), false));
    }
    for (const Flag& flag : flags_of(command)) {
      out += fmt::format("complete -c pinfold -n '__fish_seen_subcommand_from {}'", name);
      for (const std::string& option : flag.names) {
        out += option.starts_with("--") ? " -l " + option.substr(2) : " -s " + option.substr(1);
      }
      const auto choices = choices_of(flag);
      if (!choices.empty()) {
        out += fmt::format(" -x -a '{}'", fmt::join(choices, " "));
      } else if (!flag.value.empty()) {
        out += " -r";
      }
      out += fmt::format(" -d '{}'\n", quoted(flag.description, false));
    }
  });
  return out;
}

}  // namespace pinfold::tools
