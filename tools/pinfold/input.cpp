#include "input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "pinfold/api/pod_documents.hpp"

namespace pinfold::tools {

Result<std::string> read_input(const std::string& path) {
  return path == "-" ? read_rest(STDIN_FILENO, "standard input") : read_file(path);
}

std::set<std::string> device_resources(const PodSpec& pod) {
  std::set<std::string> resources;
  for (const Container& container : pod.containers) {
    for (const auto& [name, amount] : container.resources.requests) {
      const bool is_device = !is_native_resource(name) && name.find('/') != std::string::npos;
      if (is_device && !amount.is_zero()) resources.insert(name);
    }
  }
  return resources;
}

Result<std::vector<PodSpec>> read_pods(const std::vector<std::string>& files) {
  std::vector<PodSpec> pods;
  for (const std::string& file : files) {
    PINFOLD_LET(const auto text, read_input(file));
    PINFOLD_LET(auto some, pinfold::read_pods(text, file));
    std::move(some.begin(), some.end(), std::back_inserter(pods));
  }
  if (pods.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("no pod in {}: expected at least one", fmt::join(files, ", ")));
  }
  return pods;
}

}  // namespace pinfold::tools
