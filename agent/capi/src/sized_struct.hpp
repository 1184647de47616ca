#pragma once

#include <cstddef>

#include "pinfold/base/result.hpp"

/// Structures that begin with their size, so that caller and library may use different versions.
namespace pinfold::capi {

/// Copies the members of `given` that caller and library both know; the rest of `copy` is
/// unchanged. `known`: the size in this version of the library; `smallest`: in the first version.
/// Errors: kInvalidArgument for NULL and for an impossible size; kUnsupported if a member that the
/// library does not know is not zero.
[[nodiscard]] Result<void> read_struct(const void* given, void* copy, std::size_t known,
                                       std::size_t smallest, const char* name);

template <class Struct>
[[nodiscard]] Result<Struct> read_struct(const Struct* given, std::size_t smallest,
                                         const char* name) {
  Struct copy{};
  PINFOLD_TRY(read_struct(given, &copy, sizeof(Struct), smallest, name));
  copy.struct_size = sizeof(Struct);
  return copy;
}

/// Fills the members of the caller's structure that the caller knows; keeps its struct_size.
/// Errors: kInvalidArgument for an impossible size.
[[nodiscard]] Result<void> write_struct(const void* values, void* out, std::size_t known,
                                        std::size_t smallest, const char* name);

}  // namespace pinfold::capi
