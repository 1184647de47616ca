#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "kubelet_messages.hpp"
#include "pinfold/nri_pods/asked.hpp"
#include "pinfold/nri_pods/recover.hpp"

/// The annotations of a Guaranteed pod with one container of 2 CPUs: for any annotation it gets
/// these 2 CPUs or none, and only variables that exist. The first byte chooses the annotation.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::nri;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  static const pinfold::PodSpec kPod =
      pinfold::parse_pod(
          "{metadata: {name: web, uid: u-1}, spec: {containers: [{name: a, resources: {requests: "
          "{cpu: 2, memory: 1Gi}, limits: {cpu: 2, memory: 1Gi}}}]}}")
          .value();
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  api::PodSandbox sandbox = test::sandbox_of(kPod);
  (*sandbox.mutable_annotations())[std::string(kAssignedAnnotation)] = text;
  const auto asked = asked_variables(sandbox, "a");
  if (asked && *asked) {
    for (const auto& [variable, source] : **asked) {
      const bool is_known =
          source == pinfold::kAssignedCpuset || source == pinfold::kAssignedMemset;
      if (!is_known || variable.empty() || variable.find('=') != std::string::npos) std::abort();
    }
  }
  const auto name = data[0] % 2 == 0 ? kResourcesAnnotation : kAnnotatorAnnotation;
  (*sandbox.mutable_annotations())[std::string(name)] = text;
  Premises premises;
  premises.pod_level = PodLevelUse::kAnnotatedPods;
  const auto pod = recover(sandbox, test::containers_of(kPod), premises);
  if (!pod) std::abort();
  const Demand admitted = demand(*pod, premises);
  if (pod->refused_annotation && !admitted.exclusive.empty()) std::abort();
  std::int64_t cpus = 0;
  for (const std::string& container : admitted.exclusive) {
    cpus += pinfold::amount_of(admitted.pod.find(container)->resources.requests, "cpu").value();
  }
  if (cpus != 0 &&
      pinfold::container_total(admitted.pod, &pinfold::Resources::requests).at("cpu") !=
          pinfold::Quantity::milli(2000)) {
    std::abort();
  }
  return 0;
}
