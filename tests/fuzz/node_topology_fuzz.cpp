#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "pinfold/predict/node_topology.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = pinfold::parse_node_topologies({reinterpret_cast<const char*>(data), size});
  if (!parsed) return 0;
  for (const pinfold::NodeTopology& topology : parsed->nodes) {
    (void)topology.policy();
    (void)topology.scope();
    const auto again = pinfold::node_topology_from_json(to_json(topology));
    if (!again || *again != topology) std::abort();
  }
  return 0;
}
