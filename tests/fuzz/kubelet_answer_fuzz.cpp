#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "judge/kubelet_pods.hpp"
#include "judge/state_file.hpp"
#include "pinfold/harness/kubelet.hpp"

/// What a kubelet in a guest answers and writes, and the manifests that it is given.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace harness = pinfold::harness;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto list = nlohmann::json::parse(text, nullptr, false);
  const auto pod = harness::find_static_pod(list, "web");
  if (pod && (describe(*pod).empty() || !pod->cgroup.starts_with("/kubepods"))) std::abort();
  const std::map<std::string, std::string> uids = {{"web", "u1"}};
  for (const char* name : {"policyName", "defaultCpuSet", "web/a"}) {
    (void)harness::state_value(text, name, uids);
  }
  const auto manifest = harness::static_pod(text);
  if (manifest && !manifest->at("spec").at("hostNetwork").get<bool>()) std::abort();
  return 0;
}
