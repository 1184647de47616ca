#pragma once

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "pinfold/base/result.hpp"
#include "pinfold/pinfold.h"

namespace pinfold::capi {

/// A copy that pinfold_free() frees; nullptr without memory.
[[nodiscard]] inline char* copy_text(const std::string& text) noexcept {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

/// Tells an error of the C++ library as the C interface does.
inline pinfold_code report(const Error& error, char** text) noexcept {
  if (text != nullptr) *text = copy_text(error.message);
  return static_cast<pinfold_code>(error.code);
}

/// Runs the body of one function of the C interface: body() returns Result<pinfold_code>, and may
/// set *error together with a code that is not PINFOLD_OK. No exception leaves.
template <class Body>
pinfold_code call(char** error, Body&& body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    const Result<pinfold_code> done = body();
    return done ? *done : report(done.error(), error);
  } catch (const std::bad_alloc&) {
    return PINFOLD_NO_MEMORY;
  } catch (const std::exception& thrown) {
    if (error != nullptr) *error = copy_text(thrown.what());
  } catch (...) {
    if (error != nullptr) *error = copy_text("an unknown exception");
  }
  return PINFOLD_INTERNAL;
}

}  // namespace pinfold::capi
