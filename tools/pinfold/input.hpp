#pragma once

#include <set>
#include <string>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/cli/command.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::tools {

/// Reads a whole file of at most kMaxFileBytes, or standard input for "-"; unpacks gzip. Errors
/// name the file.
[[nodiscard]] Result<std::string> read_input(const std::string& path);
/// Returns the name of an input in messages: "standard input" for "-".
[[nodiscard]] std::string input_name(const std::string& path);
/// Returns the names of several: "a.yaml, standard input".
[[nodiscard]] std::string input_names(const std::vector<std::string>& paths);
/// Reads the source of a machine: a directory with sys/ and proc/, a file or "-" in any form that
/// source_of_text knows, or hwloc's synthetic form itself. Errors: as read_input.
[[nodiscard]] Result<Source> read_source(const std::string& input);
/// Returns the resources of a pod's containers that device plugins offer: "example.com/gpu".
[[nodiscard]] std::set<std::string> device_resources(const PodSpec& pod);
/// Returns one sentence for each resource of a pod that no device of the machine offers: as in the
/// kubelet, the decision ignores it, but a scheduler would not send the pod here. `machine_file`:
/// where the machine comes from; "": it was discovered, and its devices are unknown.
[[nodiscard]] std::vector<std::string> missing_devices(const Machine& machine,
                                                       const std::string& machine_file,
                                                       const PodSpec& pod);
struct PodFiles : PodDocuments {
  std::vector<std::string> quiet_notes = {};  ///< see quiet_notes(), for a caller that admits pods
};
/// Reads the pods of all files, and which of the files each is in, with the API server's defaults:
/// see pinfold::read_pods, whose notes are printed as warnings. Checks all files before it returns
/// any pod. Errors: kInvalidArgument with file and document number, or if the files have no pod.
[[nodiscard]] Result<PodFiles> read_pod_files(const std::vector<std::string>& files,
                                              RejectedPods rejected = RejectedPods::kSkip);
/// Returns the pods alone. Errors: the same.
[[nodiscard]] Result<std::vector<PodSpec>> read_pods(const std::vector<std::string>& files,
                                                     RejectedPods rejected = RejectedPods::kSkip);

/// Declares --no-validation, for commands that read pods from users.
[[nodiscard]] cli::Option no_validation_option(bool& is_set);

}  // namespace pinfold::tools
