#pragma once

#include <set>
#include <string>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/base/result.hpp"

namespace pinfold::tools {

/// Reads a whole file of at most kMaxFileBytes, or standard input for "-". Errors name the file.
[[nodiscard]] Result<std::string> read_input(const std::string& path);
/// The resources of a pod's containers that device plugins offer: "example.com/gpu".
[[nodiscard]] std::set<std::string> device_resources(const PodSpec& pod);
/// The pods of all files, with the API server's defaults: one or several documents, each a Pod or a
/// list of Pods. All files are checked before any is used.
/// Errors: kInvalidArgument with file and document number; also if the files hold no pod.
[[nodiscard]] Result<std::vector<PodSpec>> read_pods(const std::vector<std::string>& files);

}  // namespace pinfold::tools
