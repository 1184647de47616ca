#include "whole_cpus.hpp"

#include <algorithm>
#include <limits>

namespace pinfold::cpu {

int whole_cpus(const Quantity& amount) {
  const std::int64_t cpus = amount.value();
  if (cpus <= 0 || Quantity::Int128{cpus} * 1000 != amount.milli_value()) return 0;
  return static_cast<int>(std::min<std::int64_t>(cpus, std::numeric_limits<int>::max()));
}

}  // namespace pinfold::cpu
