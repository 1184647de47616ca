#include <exception>
#include <memory>
#include <new>

#include "output.hpp"
#include "pinfold/cli/run.hpp"
#include "serve/serve.hpp"

/// The program of the service; `pinfold serve` runs it.
int main(int argc, char** argv) {
  using namespace pinfold;
  const auto options = std::make_shared<tools::ServeOptions>();
  cli::Command program = tools::serve_declaration(options);
  program.name = tools::kServeProgram;
  program.version = PINFOLD_VERSION;
  program.run = [options] { return tools::exit_status(tools::serve(*options)); };
  const auto report = [](const std::string& message, bool is_usage) {
    (void)tools::report({is_usage ? ErrorCode::kInvalidArgument : ErrorCode::kIo, 0, message});
  };
  try {
    return tools::changing([&] { return cli::run(program, argc, argv, report); });
  } catch (const std::bad_alloc&) {
    return tools::report_exception(ErrorCode::kIo, "out of memory");
  } catch (const std::exception& error) {
    return tools::report_exception(ErrorCode::kInternal, error.what());
  }
}
