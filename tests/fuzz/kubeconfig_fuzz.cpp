#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "pinfold/kube_client/cluster_access.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto access =
      pinfold::kube_client::parse_kubeconfig({reinterpret_cast<const char*>(data), size}, "/home");
  if (access && !access->server.starts_with("http")) std::abort();
  return 0;
}
