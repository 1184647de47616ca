#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>
#include <vector>

#include "pinfold/nri_pods/recover.hpp"

namespace {

using namespace pinfold::nri;  // NOLINT(google-build-using-namespace)

void check(const api::PodSandbox& sandbox, const std::vector<api::Container>& containers,
           PodLevelUse pod_level) {
  Premises premises;
  premises.pod_level = pod_level;
  premises.huge_pages = false;
  premises.memory = std::uint64_t{1} << 40U;
  const auto pod = recover(sandbox, containers, premises);
  if (!pod) {
    if (pod.error().message.empty()) std::abort();
    return;
  }
  const Demand admitted = demand(*pod, premises);
  if (!pinfold::is_safe_name(admitted.pod.uid.value)) std::abort();
  for (const pinfold::PodSpec& other : admitted.unannounced) {
    if (!pinfold::is_safe_name(other.uid.value)) std::abort();
  }
  if (admitted.exclusive.empty() != !admitted.why_shared.empty()) std::abort();
  if (admitted.exclusive.empty()) return;
  if (pod->qos != pinfold::QosClass::kGuaranteed || pod->refused_annotation) std::abort();
  const pinfold::QosClass qos = pinfold::qos_class(admitted.pod, premises.gates);
  if (qos != pinfold::QosClass::kGuaranteed) std::abort();
  // Without an annotation a pod that may have pod-level resources is never exclusive.
  if (pod_level == PodLevelUse::kAnyPod && !pod->is_announced) std::abort();
}

}  // namespace

/// All pods and containers of a Synchronize: each pod is recovered or refused with a reason, and
/// only Guaranteed ones get exclusive CPUs.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto request =
      decode_request("Synchronize", std::string_view(reinterpret_cast<const char*>(data), size));
  if (!request) return 0;
  const auto& message = std::get<api::SynchronizeRequest>(*request);
  for (const api::PodSandbox& sandbox : message.pods()) {
    std::vector<api::Container> containers;
    for (const api::Container& container : message.containers()) {
      if (container.pod_sandbox_id() == sandbox.id()) containers.push_back(container);
    }
    check(sandbox, containers, PodLevelUse::kAnyPod);
    check(sandbox, containers, PodLevelUse::kAnnotatedPods);
  }
  return 0;
}
