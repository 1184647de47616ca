#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/text/go_text.hpp"

/// Errors that reading both state files has in common.
namespace pinfold::checkpoint {

inline tl::unexpected<Error> corrupt(std::string message) {
  return fail(ErrorCode::kCorrupt, std::move(message));
}

/// "checkpoint is corrupted" is the kubelet's text for a checksum that does not match.
inline tl::unexpected<Error> wrong_checksum() { return corrupt("checkpoint is corrupted"); }

inline tl::unexpected<Error> other_policy(std::string_view prefix, std::string_view configured,
                                          std::string_view stored) {
  return corrupt(fmt::format("{}configured policy {} differs from state checkpoint policy {}",
                             prefix, go::quote(configured), go::quote(stored)));
}

/// The kubelet's frame around every failure to read a state file.
inline tl::unexpected<Error> drain_and_delete(Error error, std::string_view manager,
                                              std::string_view state_dir, std::string_view file) {
  while (state_dir.size() > 1 && state_dir.ends_with('/')) state_dir.remove_suffix(1);
  const std::string path = fmt::format("{}/{}", state_dir == "/" ? "" : state_dir, file);
  error.message = fmt::format(
      "could not restore state from checkpoint: {}, please drain this node and delete the {} "
      "manager checkpoint file {} before restarting Kubelet",
      error.message, manager, go::quote(path));
  return fail(std::move(error));
}

}  // namespace pinfold::checkpoint
