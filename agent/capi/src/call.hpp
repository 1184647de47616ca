#pragma once

#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/pinfold.h"

/// What every function of the C interface needs: one guard, errors as messages, checked arguments.
namespace pinfold::capi {

/// A copy that pinfold_free() frees; nullptr if memory is exhausted.
[[nodiscard]] char* copy_text(std::string_view text) noexcept;

/// Sets *error to a copy of the message, unless the caller passed NULL.
void set_message(char** error, std::string_view message) noexcept;

/// A callback did what its description forbids. For callbacks behind interfaces without errors.
class CallbackFailure final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Sets the output *out to a copy of `text` and returns `code`; PINFOLD_NO_MEMORY if that fails.
[[nodiscard]] pinfold_code set_text(char** out, const std::string& text,
                                    pinfold_code code = PINFOLD_OK) noexcept;

/// Errors: kInvalidArgument, "NAME is NULL".
[[nodiscard]] Result<void> require(const void* pointer, const char* name);

/// Errors: kUnsupported if a flag is not one of `known`.
[[nodiscard]] Result<void> check_flags(std::uint32_t flags, std::uint32_t known);

/// A Pod (YAML or JSON) with the kubelet's defaults. Errors: kInvalidArgument.
[[nodiscard]] Result<PodSpec> read_manifest(const char* manifest);

/// Runs the body of one function of the C interface. body() returns Result<pinfold_code>; it may
/// set *error itself when it returns a code other than PINFOLD_OK. No exception leaves.
template <class Body>
pinfold_code guarded(char** error, Body&& body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    const Result<pinfold_code> done = body();
    if (done) return *done;
    set_message(error, done.error().message);
    if (done.error().sys_errno == ENOMEM) return PINFOLD_NO_MEMORY;
    return static_cast<pinfold_code>(done.error().code);
  } catch (const std::bad_alloc&) {
    return PINFOLD_NO_MEMORY;
  } catch (const std::exception& thrown) {
    set_message(error, thrown.what());
  } catch (...) {
    set_message(error, "an unknown exception");
  }
  return PINFOLD_INTERNAL;
}

}  // namespace pinfold::capi
