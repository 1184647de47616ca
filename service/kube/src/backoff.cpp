#include "pinfold/kube/backoff.hpp"

#include <algorithm>

namespace pinfold::kube {

using std::chrono::milliseconds;

milliseconds Backoff::next() {
  constexpr int kMostDoublings = 16;
  const milliseconds base = least_ * (std::int64_t{1} << std::min(failures_, kMostDoublings));
  const milliseconds limited = std::min(base, most_);
  ++failures_;
  const auto spread = static_cast<std::uint64_t>(limited.count() / 2 + 1);
  return limited / 2 + milliseconds(static_cast<std::int64_t>(random() % spread));
}

std::uint64_t Backoff::random() {
  random_ = random_ * 6364136223846793005U + 1442695040888963407U;
  return random_ >> 33U;
}

}  // namespace pinfold::kube
