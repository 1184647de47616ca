#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/cpio.hpp"
#include "pinfold/harness/guest_programs.hpp"
#include "pinfold/harness/image.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/vm.hpp"

namespace pinfold::harness {

/// Additional contents of an initramfs.
struct InitramfsParts {
  std::vector<GuestProgram> programs;
  std::vector<CpioEntry> files;
};

/// Prepares a runtime with vm-images/build, which downloads missing parts. `image` has the busybox
/// for one of the container images, `agent` goes into the others, `client` is the program
/// pinfold-cri.
/// Errors: as the script; kNotFound, kIo.
[[nodiscard]] Result<InitramfsParts> prepare_runtime(const std::filesystem::path& script,
                                                     std::string_view runtime, const Image& image,
                                                     const std::filesystem::path& agent,
                                                     const std::filesystem::path& client);

/// The runtime's answer to a CRI call.
struct CriAnswer {
  Json reply = Json::object();  ///< the answer's fields, named as in CRI's definition
  std::string error = {};       ///< "": it succeeded
};
/// Calls the runtime in the guest.
[[nodiscard]] VmResult<CriAnswer> call_runtime(Vm& vm, const std::string& method,
                                               const Json& request, Milliseconds limit);

/// The verbs of runtime.sh.
enum class RuntimeVerb { kBoot, kKill, kRestart };
/// Runs a verb, and waits until the runtime answers (not after kKill). The answer has no reply.
[[nodiscard]] VmResult<CriAnswer> control_runtime(Vm& vm, RuntimeVerb verb, Milliseconds limit);

}  // namespace pinfold::harness
