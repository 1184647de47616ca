#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet_messages.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/nri_pods/recover.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold::nri {

// GoogleTest finds it by this name.  NOLINTNEXTLINE(readability-identifier-naming)
inline void PrintTo(const Amount& amount, std::ostream* out) {
  *out << (amount.is_exact ? "exact " : "estimated ") << amount.value << " by "
       << to_string(amount.origin);
}

}  // namespace pinfold::nri

namespace pinfold::nri::test {

inline constexpr const char* kUid = "2f0fdcc8-0c5b-4a3a-8f1e-0d5e5b1f0a11";

/// Returns a Pod with this spec, in YAML or JSON.
inline PodSpec pod(const std::string& spec) {
  nlohmann::json document = {
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", "web"}, {"uid", kUid}}}};
  document["spec"] = parse_document(spec).value();
  return read_pod(document).value();
}

/// Returns a container with limits and equal requests.
inline std::string limited(std::string_view name, std::string_view cpu, std::string_view memory,
                           std::string_view more = "") {
  return fmt::format("{{name: {}, resources: {{limits: {{cpu: {}, memory: {}}}}}{}}}", name, cpu,
                     memory, more);
}

inline PodSpec pod_with(const std::vector<std::string>& containers) {
  return pod(fmt::format("containers: [{}]", fmt::join(containers, ", ")));
}

/// Premises in which pods without the annotation have no pod-level resources.
inline Premises annotated_only() {
  Premises premises;
  premises.pod_level = PodLevelUse::kAnnotatedPods;
  premises.huge_pages = false;
  premises.memory = std::uint64_t{64} << 30U;
  return premises;
}

/// Recovers the pod with all of its containers.
inline RecoveredPod recovered(const PodSpec& pod, const Kubelet& kubelet = {},
                              const Premises& premises = annotated_only()) {
  return recover(sandbox_of(pod, kubelet), containers_of(pod, kubelet), premises).value();
}

inline RecoveredPod recovered_with(const PodSpec& pod, std::string_view annotation,
                                   const std::string& value, const Kubelet& kubelet = {},
                                   const Premises& premises = annotated_only()) {
  api::PodSandbox sandbox = sandbox_of(pod, kubelet);
  (*sandbox.mutable_annotations())[std::string(annotation)] = value;
  return recover(sandbox, containers_of(pod, kubelet), premises).value();
}

inline Amount exact(std::string_view quantity, ValueOrigin origin) {
  return {Quantity::parse(quantity).value(), origin, true};
}
inline Amount estimated(std::string_view quantity, ValueOrigin origin) {
  return {Quantity::parse(quantity).value(), origin, false};
}

}  // namespace pinfold::nri::test
