#pragma once

#include <algorithm>
#include <cstddef>

namespace pinfold {

/// Shortens a sequence that fails: tries to delete runs of its elements, each time from the end and
/// then with shorter runs. `try_without(begin, end)` deletes these elements if the others still
/// fail, and returns the size that the sequence then has.
template <class TryWithout>
void delete_runs(std::size_t size, const TryWithout& try_without) {
  for (std::size_t length = std::max<std::size_t>(size / 2, 1);; length /= 2) {
    for (std::size_t end = size; end > 0;) {
      end = std::min(end, size);
      const std::size_t begin = end - std::min(end, length);
      size = try_without(begin, end);
      end = begin;
    }
    if (length <= 1) return;
  }
}

}  // namespace pinfold
