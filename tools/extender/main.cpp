#include <exception>
#include <string>

#include "extender_command.hpp"
#include "pinfold/cli/run.hpp"

int main(int argc, char** argv) {
  using namespace pinfold;
  const auto report = [](const std::string& message, bool /*is_usage*/) {
    tools::report_extender_error(message);
  };
  try {
    return cli::run(tools::extender_command(), argc, argv, report);
  } catch (const std::exception& error) {
    tools::report_extender_error(error.what());
    return cli::kUsageError;
  }
}
