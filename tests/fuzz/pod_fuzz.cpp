#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "pinfold/api/config.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/text/document.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)pinfold::read_pods({reinterpret_cast<const char*>(data), size}, "pods");
  const auto document = pinfold::parse_document({reinterpret_cast<const char*>(data), size});
  if (!document) return 0;
  (void)pinfold::check_pod_fields(*document);
  auto pod = pinfold::pod_from_json(*document);
  if (!pod) return 0;
  if (!pinfold::is_safe_name(pod->uid.value) || pod->containers.empty()) std::abort();
  const auto again = pinfold::pod_from_json(to_json(*pod));
  if (!again || *again != *pod) std::abort();
  (void)pinfold::qos_class(*pod, pinfold::FeatureGates{});
  pinfold::apply_defaults(*pod);
  (void)pinfold::qos_class(*pod, pinfold::FeatureGates{.pod_level_resources = false});
  return 0;
}
