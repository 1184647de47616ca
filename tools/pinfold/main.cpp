#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "output.hpp"
#include "pinfold_command.hpp"

int main(int argc, char** argv) {
  using namespace pinfold;
  tools::set_message_format(tools::requested_format(argc, argv));
  const auto report = [](const std::string& message, bool is_usage) {
    (void)tools::report({is_usage ? ErrorCode::kInvalidArgument : ErrorCode::kIo, 0, message});
  };
  try {
    const std::vector<std::string> arguments(argv + std::min(argc, 2), argv + argc);
    return tools::final_status(cli::run(tools::pinfold_command(arguments), argc, argv, report));
  } catch (const std::bad_alloc&) {
    return tools::report_exception(ErrorCode::kIo, "out of memory");
  } catch (const std::exception& error) {
    return tools::report_exception(ErrorCode::kInternal, error.what());
  }
}
