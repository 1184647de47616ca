#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "commands.hpp"
#include "output.hpp"
#include "program_output.hpp"
#include "serve/serve_options.hpp"

/// `pinfold serve` runs the program of the service, which other commands do not load.
namespace pinfold::tools {
namespace {

/// Replaces this program with the service; returns only if that fails.
Result<ExitStatus> become_service(const std::vector<std::string>& arguments) {
  PINFOLD_LET(const auto places, places_of_program(kServeProgram));
  std::vector<std::string> words = {kServeProgram};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  for (const std::string& program : places) {
    ::execv(program.c_str(), argv.data());
    if (errno != ENOENT) return fail_errno(errno, program);
  }
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("{}: it is not installed; it is in the package pinfold-agent", kServeProgram));
}

}  // namespace

cli::Command serve_command(const std::vector<std::string>& arguments) {
  const auto options = std::make_shared<ServeOptions>();  // pinfold-serve parses them again
  cli::Command command = serve_declaration(options);
  command.run = [arguments, options] { return exit_status(become_service(arguments)); };
  return command;
}

}  // namespace pinfold::tools
