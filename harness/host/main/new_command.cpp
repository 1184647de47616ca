#include <fmt/format.h>

#include <filesystem>

#include "command.hpp"
#include "new_scenario.hpp"

namespace pinfold::harness {

int write_new_scenario(const std::string& file) {
  if (file.empty()) {
    fmt::print("{}", kNewScenario);
    return kOk;
  }
  std::error_code failed;
  if (std::filesystem::exists(file, failed)) {
    return report({ErrorCode::kInvalidArgument, 0,
                   fmt::format("'{}' exists, expected the name of a new file", file)});
  }
  if (const auto written = write_file(file, kNewScenario); !written) return report(written.error());
  fmt::print("wrote '{0}'; run it with: pinfold-harness run {0}\n", file);
  return kOk;
}

}  // namespace pinfold::harness
