#pragma once

#include <variant>
#include <vector>

#include "pinfold/worker/request.hpp"

namespace pinfold::worker {

[[nodiscard]] inline Clock::time_point deadline_of(const Entry& entry) {
  return std::visit([](const auto& one) { return one.deadline; }, entry);
}

/// Returns the pods of an Admit, or nullptr for any other entry.
[[nodiscard]] inline const std::vector<PodSpec>* pods_to_admit(const Entry& entry) {
  const auto* const request = std::get_if<Request>(&entry);
  const auto* const admit =
      request != nullptr ? std::get_if<verbs::Admit>(&request->action) : nullptr;
  return admit != nullptr ? &admit->pods : nullptr;
}

/// Answers an entry without executing it.
inline void give_up(const Entry& entry, const Error& error) {
  if (const auto* const request = std::get_if<Request>(&entry)) {
    request->done(fail(error));
  } else {
    (void)std::get<Task>(entry).run(fail(error));
  }
}

}  // namespace pinfold::worker
