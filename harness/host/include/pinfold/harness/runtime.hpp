#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/cpio.hpp"
#include "pinfold/harness/image.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/vm.hpp"

namespace pinfold::harness {

/// The container runtimes that vm-images/build prepares.
inline constexpr std::string_view kRuntimes[] = {"containerd-1.7", "containerd-2.1"};

/// The runtime's log in the guest, which runtime.sh makes.
inline constexpr const char* kRuntimeLog = "/run/containerd.log";

/// How long each step with the runtime may take by default.
inline constexpr int kRuntimeLimitS = 120;

/// What a guest with a container runtime has in addition.
struct RuntimeParts {
  std::vector<GuestProgram> programs;
  std::vector<CpioEntry> files;
};

/// Prepares a runtime with vm-images/build; it downloads what is missing. `image` has the busybox
/// of one of the container images, `agent` is in the other, `client` is the program pinfold-cri.
/// Errors: those of the script; kNotFound, kIo.
[[nodiscard]] Result<RuntimeParts> prepare_runtime(const std::filesystem::path& script,
                                                   std::string_view runtime, const Image& image,
                                                   const std::filesystem::path& agent,
                                                   const std::filesystem::path& client);

/// An answer of the runtime to a call of CRI.
struct CriAnswer {
  Json reply = Json::object();  ///< the answer's fields, by the names of CRI's definition
  std::string error = {};       ///< "": it succeeded
};
/// Calls the runtime in the guest.
[[nodiscard]] VmResult<CriAnswer> call_runtime(Vm& vm, const std::string& method,
                                               const Json& request, Milliseconds limit);

/// What runtime.sh does.
enum class RuntimeVerb { kBoot, kKill, kRestart };
/// Does it, and waits until the runtime answers (not after kKill). The answer has no reply.
[[nodiscard]] VmResult<CriAnswer> control_runtime(Vm& vm, RuntimeVerb verb, Milliseconds limit);

}  // namespace pinfold::harness
