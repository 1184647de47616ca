#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_files.hpp"
#include "documents.hpp"
#include "pinfold/checkpoint/diff.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/kubelet.hpp"

/// How each kubelet reads a state file, for `pinfold checkpoint show` and `verify`.
namespace pinfold::tools {

struct KubeletReading {
  checkpoint::Kubelet kubelet;
  bool writes = false;                       ///< it would write these bytes for this state
  std::string error;                         ///< see checkpoint::Reading
  bool is_crash = false;                     ///< see checkpoint::Reading
  std::string start_error;                   ///< see checkpoint::Reading
  std::string state;                         ///< see checkpoint::Reading::json
  std::vector<checkpoint::Difference> lost;  ///< values of the file that it drops

  [[nodiscard]] bool starts() const { return error.empty() && start_error.empty(); }
};

/// Returns a verdict for each of checkpoint::kubelets(). `policy`: the configured one; nullopt: the
/// one in the file.
[[nodiscard]] std::vector<KubeletReading> verdicts(const StateFile& file,
                                                   const std::optional<std::string>& policy,
                                                   const checkpoint::ContainerIds& ids);

[[nodiscard]] std::vector<checkpoint::WrongSum> wrong_sums(const StateFile& file);
/// Warns of keys that a kubelet would drop.
void warn_of_unknown_keys(const StateFile& file);

[[nodiscard]] KubeletVerdict document_of(const KubeletReading& verdict);

/// Returns "1.36".
[[nodiscard]] std::string version_of(const checkpoint::Kubelet& kubelet);

[[nodiscard]] cli::Command checkpoint_verify_command();

}  // namespace pinfold::tools
