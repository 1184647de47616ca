#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "hook/oci.hpp"
#include "pinfold/text/document.hpp"

/// The state that a container runtime passes to a hook. Every resulting request names a container
/// of its pod, every process id is one of Linux, and no message quotes a pod file.
namespace {

/// The config.json of podman's hook point precreate, with the container's requested values added.
void read_as_config(std::string_view text) {
  using namespace pinfold;  // NOLINT(google-build-using-namespace)
  auto config = parse_document(text);
  if (!config) return;
  const auto state = tools::state_of_config(*config, "");
  if (!state) return;
  const auto asked = tools::asked_of(*state);
  if (!asked || !*asked) return;
  const verbs::OwnResources own{"/own", {"0-1", "0", "1", ""}};
  if (!tools::add_own_resources(own, **asked, *config)) return;
  if ((*config)["mounts"].back()["source"] != "/own") std::abort();
  if ((*config)["process"]["env"].size() < (*asked)->size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;  // NOLINT(google-build-using-namespace)
  constexpr std::string_view kSecret = "SECRET";
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_as_config(text);
  auto state = tools::parse_hook_state(text);
  if (!state || !tools::concerns_pinfold(*state)) return 0;
  (void)tools::stage_of(state->status);
  const auto pid = tools::container_pid(state->pid);
  if (pid && (*pid != state->pid || *pid < 2)) std::abort();
  // The bundle serves as the pod file.
  const auto read_bundle = [&](const std::string& /*path*/) {
    return Result<std::string>(state->bundle);
  };
  bool is_secret = state->annotations.contains("io.pinfold.pod-file");
  for (const auto& [name, value] : state->annotations) {
    is_secret = is_secret && (name + value).find(kSecret) == std::string::npos;
  }
  for (const auto validation : {tools::Validation::kOn, tools::Validation::kOff}) {
    const auto request = tools::read_request(*state, validation, read_bundle);
    if (request && request->pod.find(request->container) == nullptr) std::abort();
    if (!request && is_secret && request.error().message.find(kSecret) != std::string::npos) {
      std::abort();
    }
  }
  return 0;
}
