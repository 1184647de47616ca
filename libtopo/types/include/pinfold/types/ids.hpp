#pragma once

#include <compare>
#include <cstdint>

namespace pinfold {

/// An id that cannot be mistaken for another kind of id. CPU, socket and NUMA ids are those of the
/// operating system; core and cache ids are unique on a machine (see Machine).
template <class Tag>
struct Id {
  std::int32_t value = -1;

  friend constexpr auto operator<=>(Id, Id) = default;
};

using CpuId = Id<struct CpuTag>;
using CoreId = Id<struct CoreTag>;
using SocketId = Id<struct SocketTag>;
using NumaId = Id<struct NumaTag>;
using CacheId = Id<struct CacheTag>;

}  // namespace pinfold
