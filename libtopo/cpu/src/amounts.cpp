#include "amounts.hpp"

#include <algorithm>
#include <limits>

namespace pinfold::cpu {

Quantity amount_of(const ResourceList& list, std::string_view resource) {
  const auto amount = list.find(resource);
  return amount == list.end() ? Quantity{} : amount->second;
}

int whole_cpus(const Quantity& amount) {
  const std::int64_t cpus = amount.value();
  if (cpus <= 0 || Quantity::Int128{cpus} * 1000 != amount.milli_value()) return 0;
  return static_cast<int>(std::min<std::int64_t>(cpus, std::numeric_limits<int>::max()));
}

bool is_guaranteed_alone(const Container& container) {
  for (const auto* const resource : {"cpu", "memory"}) {
    const Quantity request = amount_of(container.resources.requests, resource);
    if (request.is_zero() || request != amount_of(container.resources.limits, resource)) {
      return false;
    }
  }
  return true;
}

}  // namespace pinfold::cpu
