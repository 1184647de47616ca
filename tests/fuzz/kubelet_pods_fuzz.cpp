#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "node/kubelet_pods.hpp"

/// The server on a kubelet's read-only port can answer anything; a body is the end of its answer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto body = tools::body_of_response(text);
  if (body && !text.ends_with(*body)) std::abort();
  audit::ObservedKubelet kubelet;
  kubelet.config_text = std::string(text);
  kubelet.flags["read-only-port"] = std::string(text.substr(0, size / 2));
  (void)tools::read_only_port(kubelet);
  return 0;
}
