#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "commands.hpp"
#include "output.hpp"
#include "serve_options.hpp"

/// `pinfold serve` runs the program of the service, which other commands do not load.
namespace pinfold::tools {
namespace {

/// Replaces this program; returns only if that fails.
Result<ExitStatus> become_service(const std::vector<std::string>& arguments) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path here = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (failed) return fail_errno(failed.value(), "/proc/self/exe");
  std::vector<std::string> words = {kServeProgram};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  for (const fs::path& program :
       {here / kServeProgram, here / ".." / PINFOLD_LIBEXEC / kServeProgram}) {
    ::execv(program.c_str(), argv.data());
    if (errno != ENOENT) return fail_errno(errno, program.lexically_normal().string());
  }
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("{}: it is not installed; it is in the package pinfold-agent", kServeProgram));
}

}  // namespace

cli::Command serve_command(const std::vector<std::string>& arguments) {
  const auto options = std::make_shared<ServeOptions>();  // the program parses them again
  cli::Command command = serve_declaration(options);
  command.run = [arguments, options] { return exit_status(become_service(arguments)); };
  return command;
}

}  // namespace pinfold::tools
