#include "pinfold/worker/snapshot.hpp"

#include <utility>

namespace pinfold::worker {

Subscription::Taken Subscription::take() {
  const std::lock_guard lock(mutex_);
  Taken taken{{changes_.begin(), changes_.end()}, std::exchange(has_lagged_, false)};
  changes_.clear();
  return taken;
}

void Subscription::add(const std::vector<verbs::Event>& changes) {
  {
    const std::lock_guard lock(mutex_);
    has_lagged_ = has_lagged_ || changes_.size() + changes.size() > limit_;
    if (has_lagged_) {
      changes_.clear();
    } else {
      changes_.insert(changes_.end(), changes.begin(), changes.end());
    }
  }
  if (notify_) notify_();
}

}  // namespace pinfold::worker
