#include "sized_struct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "pinfold/pinfold.h"

namespace pinfold::capi {
namespace {

/// A larger size was not initialised: no later version of a structure will be nearly as large.
constexpr std::size_t kLargest = 4096;

Result<std::size_t> read_size(const void* given, std::size_t smallest, const char* name) {
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  if (size >= smallest && size <= kLargest) return size;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}.struct_size is {}: expected {} to {}; set it with its _INIT macro",
                          name, size, smallest, kLargest));
}

}  // namespace

Result<void> read_struct(const void* given, void* copy, std::size_t known, std::size_t smallest,
                         const char* name) {
  if (given == nullptr) return fail(ErrorCode::kInvalidArgument, fmt::format("{} is NULL", name));
  PINFOLD_LET(const auto size, read_size(given, smallest, name));
  const auto* const bytes = static_cast<const unsigned char*>(given);
  const bool uses_more = size > known && std::any_of(bytes + known, bytes + size,
                                                     [](unsigned char byte) { return byte != 0; });
  if (uses_more) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} has members that version {} of the library does not have", name,
                            pinfold_version()));
  }
  std::memcpy(copy, given, std::min(size, known));
  return {};
}

Result<void> write_struct(const void* values, void* out, std::size_t known, std::size_t smallest,
                          const char* name) {
  PINFOLD_LET(const auto size, read_size(out, smallest, name));
  std::memcpy(out, values, std::min(size, known));
  std::memcpy(out, &size, sizeof(size));
  return {};
}

}  // namespace pinfold::capi
