#pragma once

#include <variant>
#include <vector>

#include "pinfold/worker/worker.hpp"

namespace pinfold::worker {

template <class Entry>
[[nodiscard]] Clock::time_point deadline_of(const Entry& entry) {
  return std::visit([](const auto& one) { return one.deadline; }, entry);
}

/// Returns the pods of an Admit, or nullptr for any other entry.
template <class Entry>
[[nodiscard]] const std::vector<PodSpec>* pods_to_admit(const Entry& entry) {
  const auto* const request = std::get_if<Request>(&entry);
  const auto* const admit = request != nullptr ? std::get_if<verbs::Admit>(&request->action) : nullptr;
  return admit != nullptr ? &admit->pods : nullptr;
}

/// Answers an entry without executing it.
inline void give_up(const std::variant<Request, Task>& entry, const Error& error) {
  if (const auto* const request = std::get_if<Request>(&entry)) {
    request->done(fail(error));
  } else {
    (void)std::get<Task>(entry).run(fail(error));
  }
}

}  // namespace pinfold::worker
