#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "hook/oci.hpp"

/// The state that a container runtime passes to a hook. Every resulting request names a container
/// of its pod, every process id is one of Linux, and no message quotes a pod file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;  // NOLINT(google-build-using-namespace)
  constexpr std::string_view kSecret = "SECRET";
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto state = tools::parse_hook_state(text);
  if (!state || !tools::concerns_pinfold(*state)) return 0;
  (void)tools::stage_of(state->status);
  const auto pid = tools::container_pid(state->pid);
  if (pid && (*pid != state->pid || *pid < 2)) std::abort();
  // The bundle stands for the pod file.
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
