#pragma once

#include <cerrno>
#include <cstdint>
#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/agent/outcome.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/pinfold.h"

/// Helpers for every function of the C interface: a guard, error messages, checks of arguments.
namespace pinfold::capi {

/// Returns a copy that pinfold_free() frees; nullptr if memory is exhausted.
[[nodiscard]] char* copy_text(std::string_view text) noexcept;

/// Sets *error to a copy of the message, unless the caller passed NULL.
void set_message(char** error, std::string_view message) noexcept;

/// Records the errno that the C function running on this thread will set; 0: none.
void note_errno(int number) noexcept;
/// Sets errno to the recorded number, as the last step.
void set_errno() noexcept;

/// Thrown if a callback breaks the rules of its description and cannot return an error.
class CallbackFailure final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Sets the output *out to a copy of `text` and returns `code`; PINFOLD_NO_MEMORY if that fails.
[[nodiscard]] pinfold_code set_text(char** out, const std::string& text,
                                    pinfold_code code = PINFOLD_OK) noexcept;

/// Checks that a pointer is not NULL. Errors: kInvalidArgument, "NAME is NULL".
[[nodiscard]] Result<void> require(const void* pointer, const char* name);

/// Checks that a path is a directory. Errors: kInvalidArgument, including for NULL.
[[nodiscard]] Result<void> require_directory(const char* path);

/// Checks flags. Errors: kUnsupported if a flag is not one of `known`.
[[nodiscard]] Result<void> check_flags(std::uint32_t flags, std::uint32_t known);

/// Reads a Pod and applies the kubelet's defaults. Errors: kInvalidArgument.
[[nodiscard]] Result<PodSpec> read_pod(const nlohmann::json& document);
/// The pod of a manifest, and what the caller should know about it.
struct ManifestPod {
  PodSpec spec;
  std::vector<std::string> notes;
};
/// Parses a Pod or workload (YAML or JSON) and applies the kubelet's defaults.
/// Errors: kInvalidArgument.
[[nodiscard]] Result<ManifestPod> read_manifest(const char* manifest);

/// Whether an exception says that an allocation failed; std::filesystem has its own for that.
[[nodiscard]] bool is_out_of_memory(const std::exception& thrown);

/// Runs the body of one function of the C interface and catches every exception. body() returns
/// Result<pinfold_code>; if it returns a code other than PINFOLD_OK, it may set *error itself.
template <class Body>
pinfold_code guarded(char** error, Body&& body) noexcept {
  struct SetErrno {
    SetErrno() { note_errno(0); }
    SetErrno(const SetErrno&) = delete;
    SetErrno& operator=(const SetErrno&) = delete;
    ~SetErrno() { set_errno(); }
  };
  const SetErrno at_the_end;
  if (error != nullptr) *error = nullptr;
  try {
    const Result<pinfold_code> done = body();
    if (done) return *done;
    set_message(error, done.error().message);
    note_errno(done.error().sys_errno);
    if (done.error().sys_errno == ENOMEM) return PINFOLD_NO_MEMORY;
    if (agent::is_unknown_outcome(done.error())) return PINFOLD_UNKNOWN;
    return static_cast<pinfold_code>(done.error().code);
  } catch (const std::exception& thrown) {
    if (is_out_of_memory(thrown)) {
      note_errno(ENOMEM);
      return PINFOLD_NO_MEMORY;
    }
    set_message(error, thrown.what());
  } catch (...) {
    set_message(error, "an unknown exception");
  }
  return PINFOLD_INTERNAL;
}

}  // namespace pinfold::capi
