#include "kubelet_version.hpp"

#include "program_output.hpp"

namespace pinfold::tools {

Result<std::string> kubelet_version(const std::string& program) {
  constexpr std::size_t kMostBytes = 256;
  PINFOLD_LET(auto text, program_output(program, {"--version"}, kMostBytes));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace pinfold::tools
