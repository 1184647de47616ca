#include <fmt/format.h>
#include <fmt/ranges.h>

#include "completion.hpp"
#include "pinfold/manual/manual.hpp"

namespace pinfold::manual {
namespace {

constexpr const char* kFishRun =
    R"(# Prints what {p} says with those options on the line that select its input. $argv[2]: an
# option that must be among them.
function _{f}_run
    set -l words (commandline -opc)
    set -l node
    for i in (seq (count $words))
        set -l pair (string split -m 1 = -- $words[$i])
        contains -- $pair[1] {subject} $argv[2..]; or continue
        if test (count $pair) = 2
            set -a node $words[$i]
        else if test $i -lt (count $words)
            set -a node $words[$i] (string replace -r '^~' $HOME -- $words[(math $i + 1)])
        end
    end
    if set -q argv[2]; and not string match -q -- "$argv[2]*" $node
        return
    end
    {p} (string split ' ' -- $argv[1]) $node 2> /dev/null
end
)";

/// Returns the part that completes the value of an option or argument: " -x -a '...'".
std::string fish_value(const cli::Option& option, const std::string& function) {
  const auto choices = choices_of(option);
  if (!choices.empty()) return fmt::format(" -x -a '{}'", fmt::join(choices, " "));
  if (!option.suggested_by.empty()) {
    return fmt::format(" -x -a '({}_run \"{}\" {})'", function, option.suggested_by,
                       option.suggested_with);
  }
  if (is_flag(option)) return "";
  if (kind_of(option) == ValueKind::kText) return " -x";
  if (option.suffix.empty()) return " -r";
  return fmt::format(" -x -a '(__fish_complete_suffix {})'", option.suffix);
}

}  // namespace

std::string fish_completion(const cli::Command& program) {
  const std::string function = "__" + identifier_of(program);
  const std::string complete = "complete -c " + program.name;
  std::string out = fmt::format(
      "# fish completion for {}; generated from the declarations of its options\n", program.name);
  if (prints_values(program)) {
    out += fmt::format(
        fmt::runtime(kFishRun), fmt::arg("p", program.name),
        fmt::arg("f", "_" + identifier_of(program)),
        fmt::arg("subject", fmt::format("{}", fmt::join(program.subject_options, " "))));
  }
  for (const cli::Command& command : program.commands) {
    out += fmt::format("{} -n __fish_use_subcommand -f -a {} -d '{}'\n", complete, command.name,
                       quoted(command.help));
  }
  for_each_command(program, "", [&](const cli::Command& command, const std::string& path) {
    if (const auto space = path.rfind(' '); space != std::string::npos) {
      out += fmt::format("{} -n '__fish_seen_subcommand_from {}' -f -a {} -d '{}'\n", complete,
                         path.substr(0, space), command.name, quoted(command.help));
    }
    for (const cli::Option& option : named_options(command)) {
      out += fmt::format("{} -n '__fish_seen_subcommand_from {}'", complete, command.name);
      for (const std::string& name : names_of(option)) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      out += fmt::format("{} -d '{}'\n", fish_value(option, function), quoted(option.help));
    }
    if (is_help(command)) {
      out += fmt::format("{} -n '__fish_seen_subcommand_from {}' -x -a '{}'\n", complete,
                         command.name, names_below(program));
    }
    // Without this line, fish offers files of any name first.
    if (const cli::Option* const argument = positional_of(command);
        argument != nullptr && !argument->suffix.empty()) {
      out += fmt::format("{} -n '__fish_seen_subcommand_from {}'{}\n", complete, command.name,
                         fish_value(*argument, function));
    }
  });
  return out;
}

}  // namespace pinfold::manual
