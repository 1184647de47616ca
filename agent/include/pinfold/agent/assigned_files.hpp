#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/api/assigned_variables.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/decide/decide.hpp"

/// Files that show a container its CPUs and memory nodes: docs/own-cpus.md.
namespace pinfold::agent {

/// What a container may use, as Linux lists: "0-3,8".
struct AssignedValues {
  std::string cpus;            ///< all its CPUs: its exclusive ones, or the shared pool
  std::string mems;            ///< all its memory nodes
  std::string exclusive_cpus;  ///< assigned.cpuset of KEP-6369; "" if it has none
  std::string exclusive_mems;  ///< assigned.memset of KEP-6369: "" unless its memory is assigned

  friend bool operator==(const AssignedValues&, const AssignedValues&) = default;
};

/// Returns the values of a container; nullopt if it has no group.
[[nodiscard]] std::optional<AssignedValues> assigned_values(const Node& node,
                                                            const NodeState& state,
                                                            const Desired& desired,
                                                            const ContainerId& container);

/// The name of a file or variable, and the member with its value.
struct AssignedField {
  const char* name;
  std::string AssignedValues::*value;
};
/// Returns the files of a container, in the order of AssignedValues.
[[nodiscard]] const std::vector<AssignedField>& assigned_fields();

/// Where a container finds its files.
inline constexpr const char* kOwnDirectory = "/run/pinfold/self";
/// Returns the options of the bind mount there.
[[nodiscard]] const std::vector<std::string>& own_mount_options();
/// Returns the environment variables of a container: PINFOLD_CPUS, PINFOLD_MEMS, and those that the
/// container asks for.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> own_variables(
    const AssignedValues& values, const AssignedVariables& asked);

/// A directory with one directory of files per published container. The files of a container change
/// together: ..data links to the directory that holds them, and is replaced atomically, as in the
/// kubelet's volumes.
class AssignedFiles {
 public:
  /// Publishes nothing.
  AssignedFiles() = default;
  /// Continues with the containers that an earlier process has published.
  explicit AssignedFiles(std::string directory);

  [[nodiscard]] bool empty() const { return published_.empty(); }
  [[nodiscard]] std::vector<ContainerId> containers() const;
  /// Writes the files of a container and returns the absolute path of its directory.
  /// Errors: kUnsupported without a directory; kInvalidArgument for a name that is not safe in a
  /// path; kIo, then the earlier files remain.
  [[nodiscard]] Result<std::string> publish(const ContainerId& container,
                                            const AssignedValues& values);
  /// Removes the files of a container. A container that still has them mounted sees no files.
  /// Errors: kIo.
  [[nodiscard]] Result<void> withdraw(const ContainerId& container);

 private:
  std::string directory_;  ///< "": none
  std::map<ContainerId, AssignedValues> published_;
};

}  // namespace pinfold::agent
