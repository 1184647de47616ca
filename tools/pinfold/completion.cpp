#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "commands.hpp"
#include "output.hpp"
#include "pinfold/manual/manual.hpp"

namespace pinfold::tools {
namespace {

using Writer = std::string (*)(const cli::Command& program);

}  // namespace

cli::Command completion_command(std::function<cli::Command()> program) {
  auto write = std::make_shared<Writer>(manual::bash_completion);
  cli::Command command{"completion", "Print the completions of a shell for this program"};
  command.add({{.name = "SHELL",
                .target = cli::one_of<Writer>(*write, {{"bash", manual::bash_completion},
                                                       {"zsh", manual::zsh_completion},
                                                       {"fish", manual::fish_completion}}),
                .help = "The shell",
                .required = true}});
  command.sections = {
      {"Examples",
       {{"source <(pinfold completion bash)", "In this bash; put it into ~/.bashrc for every bash"},
        {"pinfold completion zsh", "For zsh: save it as _pinfold in a directory of $fpath"},
        {"pinfold completion fish",
         "For fish: save it as ~/.config/fish/completions/pinfold.fish"}}}};
  command.run = [write, program = std::move(program)] {
    fmt::print("{}", (*write)(program()));
    return static_cast<int>(kYes);
  };
  return command;
}

}  // namespace pinfold::tools
