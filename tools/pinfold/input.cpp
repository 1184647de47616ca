#include "input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "pinfold/text/document.hpp"

namespace pinfold::tools {

Result<std::string> read_input(const std::string& path) {
  return path == "-" ? read_rest(STDIN_FILENO, "standard input") : read_file(path);
}

Result<std::vector<PodSpec>> read_pods(const std::vector<std::string>& files) {
  std::vector<PodSpec> pods;
  for (const std::string& file : files) {
    PINFOLD_LET(auto text, read_input(file));
    PINFOLD_LET_WRAP(auto documents, parse_documents(text), file);
    std::size_t number = 0;
    for (const nlohmann::json& document : documents) {
      ++number;
      if (document.is_null()) continue;  // "---" at the end
      auto pod = pod_from_json(document);
      if (!pod) {
        const std::string where =
            documents.size() == 1 ? file : fmt::format("{}, document {}", file, number);
        return fail(std::move(pod).error().wrap(where));
      }
      apply_defaults(*pod);
      pods.push_back(*std::move(pod));
    }
  }
  if (pods.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("no pod in {}: expected at least one", fmt::join(files, ", ")));
  }
  return pods;
}

}  // namespace pinfold::tools
